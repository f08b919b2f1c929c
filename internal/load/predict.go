package load

import "time"

// Predict is the rate that the course's formulas give for a cell, in uses of a lock each
// second, from the time of a ping-pong, which is two messages, and the time for which a
// lock was really kept. It is false where they say nothing; see the package's page.
func Predict(cell Cell, ping, kept time.Duration) (float64, bool) {
	message := ping / 2
	var period time.Duration
	switch {
	case cell.Alone() && (cell.Workload == Uncontended || cell.Workload == Hot):
		period = kept + 3*message // request, grant, use, release
	case cell.Workload == Hot || cell.Workload == Drain:
		period = kept + 2*message // release and the next grant, use
	}
	if period <= 0 {
		return 0, false
	}
	return float64(time.Second) / float64(period), true
}
