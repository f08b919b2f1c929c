package load

import (
	"fmt"
	"time"
)

// Prediction is the result of the formulas for a cell, where T is the time of a message and W that of a use.
type Prediction struct {
	// Messages is the number of sequential messages in a use: the 3 of 1/(W+3T).
	Messages int
	// PerSecond is the number of uses of a lock per second.
	PerSecond float64
	// Utilisation is the share of the time in which the lock is in use, for example W/(W+2T).
	Utilisation float64
}

// Predict applies the formulas to a cell, from the message pattern, the time of a ping-pong, which is two messages, and
// the actual time for which a lock was kept. It is false if they do not apply; see the package comment.
func Predict(cell Cell, sends Messages, ping, kept time.Duration) (Prediction, bool) {
	alone, next := 3, 2 // request, grant, release; release and the next grant
	switch sends {
	case Broadcast:
		alone, next = 2, 1 // requests, replies; a reply
	case TwoPhase:
		alone, next = 4, 3 // a number, a turn, with their answers; release, a turn, its answer
	case NoMessages:
		alone, next = 0, 0
	case NoLocks:
		return Prediction{}, false
	}
	var p Prediction
	switch {
	case cell.alone() && (cell.Workload == Uncontended || cell.Workload == Hot):
		p.Messages = alone
	case cell.Workload == Hot || cell.Workload == Drain:
		p.Messages = next
	default:
		return Prediction{}, false
	}
	period := kept + time.Duration(p.Messages)*ping/2
	if period <= 0 {
		return Prediction{}, false
	}
	p.PerSecond = float64(time.Second) / float64(period)
	p.Utilisation = float64(kept) / float64(period)
	return p, true
}

// formula names the formula of a rate: 1/(W+3T).
func formula(messages int) string {
	switch messages {
	case 0:
		return "1/W"
	case 1:
		return "1/(W+T)"
	}
	return fmt.Sprintf("1/(W+%dT)", messages)
}

// addPrediction adds the prediction for the cell and, with think times, the share of the time in which the lock was in
// use.
func (f Figures) addPrediction(p Prediction, kept time.Duration) {
	f[PredictedOpsPerS], f[PredictedBy] = p.PerSecond, float64(p.Messages)
	if rate, counted := f[OpsPerS]; counted && kept > 0 {
		f[Utilisation], f[PredictedUtilisation] = rate*kept.Seconds(), p.Utilisation
	}
}
