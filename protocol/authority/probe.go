package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Probes are those of a protocol in which one member keeps the table for all.
func Probes() probe.Probes {
	return probe.Probes{
		Request: requestIn, Position: positionIn,
		Costs: func(int) []probe.Cost { return costs() },
		Routine: func(m protocol.Message) bool {
			_, acks := m.(Acks)
			return acks
		},
	}
}

// requestIn returns a holder's request to an authority.
func requestIn(m protocol.Message) (probe.Standing, bool) {
	acquire, ok := m.(Acquire)
	return probe.Standing{Name: acquire.Entry.Name, Session: acquire.Entry.Session, Request: acquire.Entry.Request}, ok
}

// positionIn returns whether an authority's message says that it has queued a request.
func positionIn(m protocol.Message) (probe.Standing, bool) {
	decided, ok := m.(Decided)
	gone := decided.Kind == lock.Refused || decided.Kind == lock.Lost
	if ok && decided.Kind == lock.Granted {
		return probe.Standing{Name: decided.Name, Session: decided.Session, Request: decided.Seq, Token: decided.Token}, true
	}
	if !ok || decided.Kind != lock.Queued && !gone {
		return probe.Standing{}, false
	}
	return probe.Standing{Name: decided.Name, Session: decided.Session, Request: decided.Seq, Reign: decided.Epoch, Tenure: decided.Tenure, Gone: gone}, true
}

// costs are those of the design text of CENTRAL_LOCK2 (doc/design/CENTRAL_LOCK2.txt):
// LOCK and LOCK-RSP, UNLOCK and UNLOCK-RSP, 2 + 2, and none at the coordinator itself. Here
// the fourth rides on the next message to the same member, and travels alone, once for
// all, only where none comes within T/5: 2 + 1 (docs/design/promises.md §4). A request that has to queue is answered
// so, which is one more.
func costs() []probe.Cost {
	return []probe.Cost{
		{Deed: probe.CycleAtCoordinator, Formula: "0"},
		{Deed: probe.CycleElsewhere, Least: 3, Most: 3, Tail: 1, Formula: "2 + 1"},
		{Deed: probe.CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeShared}, Least: 3, Most: 3, Tail: 1, Formula: "2 + 1"},
		{Deed: probe.CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}, Least: 3, Most: 3, Tail: 1, Formula: "2 + 1"},
		{Deed: probe.HandOver, Least: 7, Most: 7, Tail: 2, Formula: "2 · (2 + 1) + 1"},
		{Deed: probe.TryRefused, Least: 2, Most: 2, Formula: "2"},
	}
}
