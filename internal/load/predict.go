package load

import "time"

// Predict is the rate that the course's formulas give for a cell, in uses of a lock each
// second, from what is sent, the time of a ping-pong, which is two messages, and the time for
// which a lock was really kept. It is false where they say nothing; see the package's page.
func Predict(cell Cell, sends Messages, ping, kept time.Duration) (float64, bool) {
	message := ping / 2
	alone, next := 3*message, 2*message // request, grant, release; release and the next grant
	switch sends {
	case Broadcast:
		alone, next = 2*message, message // requests, replies; a reply
	case TwoPhase:
		alone, next = 4*message, 3*message // a number, a turn, with their answers; release, a turn, its answer
	case NoMessages:
		alone, next = 0, 0
	case NoLocks:
		return 0, false
	}
	period := kept
	switch {
	case cell.alone() && (cell.Workload == Uncontended || cell.Workload == Hot):
		period += alone
	case cell.Workload == Hot || cell.Workload == Drain:
		period += next
	default:
		return 0, false
	}
	if period <= 0 {
		return 0, false
	}
	return float64(time.Second) / float64(period), true
}
