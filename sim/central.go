package sim

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// centralProtocol is one space of protocol central over the membership.
func centralProtocol() Protocol {
	return Protocol{
		Name: "central", Fewest: 3, Most: 7, Locks: true,
		Faults:   Within &^ ofStores,
		Build:    OneSpace("central"),
		Position: position,
		Costs:    func(int) []Cost { return centralCosts() },
		Routine:  routineOfHolders,
		Request:  requestOfHolders,
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{
			authority.Acquire{}, authority.Release{}, authority.Extend{}, authority.EndSession{}, authority.Decided{},
			authority.InfoRequest{}, authority.InfoAnswer{}, authority.Acks{}, authority.Query{}, authority.Answer{},
		}},
	}
}

// routineOfHolders reports whether a message between members, one of which keeps the table
// for all, says nothing that anybody waits for.
func routineOfHolders(m protocol.Message) bool {
	_, acks := m.(authority.Acks)
	return acks || routine(m)
}

// requestOfHolders reads off what a holder asks an authority for.
func requestOfHolders(m protocol.Message) (Standing, bool) {
	acquire, ok := m.(authority.Acquire)
	return Standing{Name: acquire.Entry.Name, Session: acquire.Entry.Session, Request: acquire.Entry.Request}, ok
}

// position reads off what an authority says that it has queued something, or has not.
func position(m protocol.Message) (Standing, bool) {
	decided, ok := m.(authority.Decided)
	gone := decided.Kind == lock.Refused || decided.Kind == lock.Lost
	if ok && decided.Kind == lock.Granted {
		return Standing{Name: decided.Name, Session: decided.Session, Request: decided.Seq, Token: decided.Token}, true
	}
	if !ok || decided.Kind != lock.Queued && !gone {
		return Standing{}, false
	}
	return Standing{Name: decided.Name, Session: decided.Session, Request: decided.Seq, Reign: decided.Epoch, Tenure: decided.Tenure, Gone: gone}, true
}

// centralCosts are those of the design text of CENTRAL_LOCK2 (doc/design/CENTRAL_LOCK2.txt):
// LOCK and LOCK-RSP, UNLOCK and UNLOCK-RSP, 2 + 2, and none at the coordinator itself. Here
// the fourth rides on the next message to the same member, and travels alone, once for
// all, only where none comes within T/5: 2 + 1 (docs/design/promises.md §4). A request that has to queue is answered
// so, which is one more.
func centralCosts() []Cost {
	return []Cost{
		{Deed: CycleAtCoordinator, Formula: "0"},
		{Deed: CycleElsewhere, Least: 3, Most: 3, Tail: 1, Formula: "2 + 1"},
		{Deed: CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeShared}, Least: 3, Most: 3, Tail: 1, Formula: "2 + 1"},
		{Deed: CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}, Least: 3, Most: 3, Tail: 1, Formula: "2 + 1"},
		{Deed: HandOver, Least: 7, Most: 7, Tail: 2, Formula: "2 · (2 + 1) + 1"},
		{Deed: TryRefused, Least: 2, Most: 2, Formula: "2"},
	}
}

// membershipMessages are those between the machines below.
func membershipMessages() []protocol.Message {
	return []protocol.Message{
		election.StatusPoll{}, election.StatusAnswer{}, election.Election{}, election.Promise{}, election.Refuse{},
		membership.Poll{}, membership.NewView{}, membership.PollAnswer{}, membership.ViewAck{}, membership.Join{},
		membership.Unwelcome{}, membership.Dropped{}, membership.Resign{},
	}
}

// routine reports whether a message of the membership says only that nothing has changed.
func routine(m protocol.Message) bool {
	switch m := m.(type) {
	case membership.Poll, election.StatusPoll, election.StatusAnswer:
		return true
	case membership.PollAnswer:
		return !m.Leaving
	}
	return false
}

// Above builds members of the membership and one space above it, made by space for the
// member of that id.
func Above(space func(protocol.ID) protocol.Machine) func(Node) (Built, error) {
	return func(s Node) (Built, error) {
		built, err := Membership(s)
		built.Spaces = []protocol.Machine{space(built.ID)}
		return built, err
	}
}

// Membership makes the machine below every space: Built without spaces. It knows which members are here,
// which one coordinates, and until when each may hold, as in every member that ships.
func Membership(s Node) (Built, error) {
	plain, err := s.plain()
	if err != nil {
		return Built{}, err
	}
	built, _, err := s.membership(plain)
	return built, err
}

// membership makes that machine from the configuration of the member, and returns its cell.
func (s *Node) membership(plain *member.Config) (Built, membership.Cell, error) {
	m, err := plain.Membership(member.Entropy{Rand: s.Rand})
	if err != nil {
		return Built{}, membership.Cell{}, err
	}
	cell := m.Cell()
	built := Built{ID: cell.ID, Incarnation: cell.Incarnation, Below: m}
	if s.Newer {
		built.Below = &newer{m}
	}
	return built, cell, nil
}
