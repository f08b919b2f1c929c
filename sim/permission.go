package sim

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"math/rand/v2"
)

// permissionProtocol is one space of protocol permission over the membership.
func permissionProtocol() Protocol {
	return Protocol{
		Name: "permission", Fewest: 3, Most: 7, Locks: true, Peers: true, Loose: true,
		Faults: Within.Without(Any) &^ ofStores,
		Build:  OneSpace("permission"), draw: drawPermission,
		Own: func(space protocol.Machine, now protocol.Time) *protocol.Condition {
			return space.(*permission.Machine).Own(now)
		},
		Costs:     permissionCosts,
		PeerProbe: peersOfPermission{},
		Routine:   routine,
		Universe: Universe{Below: append(membershipMessages(), membership.JoinDeferred{}), Above: []protocol.Message{
			permission.Request{}, permission.Reply{}, permission.Free{}, permission.Defer{}, permission.CapacityConflict{},
			permission.ClockRequest{}, permission.ClockAnswer{}, local.Query{}, local.Answer{},
		}},
	}
}

// permissionCosts are Ricart and Agrawala's: a request to each of the others and a reply from
// each, in any mode, as long as no other user wants the name.
func permissionCosts(members int) []Cost {
	cycle := 2 * (members - 1)
	costs := []Cost{
		{Deed: CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeShared}, Least: cycle, Most: cycle, Formula: "2 (n - 1)"},
		{Deed: CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}, Least: cycle, Most: cycle, Formula: "2 (n - 1)"},
		{Deed: HandOver, Least: 2 * cycle, Most: 2 * cycle, Formula: "2 * 2 (n - 1)"},
	}
	for _, deed := range []Deed{CycleAtCoordinator, CycleElsewhere} {
		costs = append(costs, Cost{Deed: deed, Least: cycle, Most: cycle, Formula: "2 (n - 1)"})
	}
	// The name is held by one who has asked for it, too.
	return append(costs, Cost{Deed: TryRefused, Least: cycle, Most: cycle, Tail: cycle, Formula: "2 (n - 1)"})
}

// peersOfPermission is what can be read off peers and their messages.
type peersOfPermission struct{}

// PeerRequestIn reads off a request for an exclusive lock its number, and the reign of its stamp. One that
// does not want to wait has no place: who refuses it forgets it.
func (peersOfPermission) PeerRequestIn(m any) (PeerRequest, bool) {
	r, is := m.(permission.Request)
	return PeerRequest{r.Name, r.Number, protocol.Epoch{Counter: r.Clock >> 32}}, is && r.Mode == holdfast.ModeExclusive && !r.Try
}

// Request reads off a space which request of a client asks by a number, or has entered.
func (peersOfPermission) Request(space protocol.Machine, number uint64) (lock.SessionID, uint64, bool) {
	return space.(*permission.Machine).Request(number)
}

// Heard reads off a space whether it has taken in a peer's request.
func (peersOfPermission) Heard(space protocol.Machine, from protocol.ID, m any) bool {
	r, is := m.(permission.Request)
	return is && space.(*permission.Machine).Heard(from, &r)
}

// Dealings reads off a space what its member has to do with its peers.
func (peersOfPermission) Dealings(space protocol.Machine) Dealings {
	return Dealings(space.(*permission.Machine).Dealings())
}

// Meets reads off a request that it asks for a permission back, and off a reply whether the
// request that it names has ended, and how many it settles.
func (peersOfPermission) Meets(space protocol.Machine, from protocol.ID, m any) Meeting {
	peer := space.(*permission.Machine)
	switch m := m.(type) {
	case permission.Request:
		if peer.Keeps(m.Name, from) {
			return MeetsKept
		}
	case permission.Reply:
		session, _, _ := peer.Request(m.Number)
		switch {
		case m.Count > 1:
			return MeetsSeveral
		case session == (lock.SessionID{}) && peer.Dealings().Waits > 0:
			return MeetsNewer
		}
	}
	return MeetsNothing
}

// drawPermission draws the options of a space in which no member is in charge. Where each name is some
// entries, every lock is one of them.
func drawPermission(s *settings, r *rand.Rand) {
	if r.IntN(3) == 0 {
		s.set("defer", true)
	}
	if r.IntN(3) == 0 {
		s.set("retain", true)
	}
	capacity := 1 + r.IntN(s.members+1)
	if r.IntN(4) != 0 {
		return
	}
	s.set("capacity", capacity)
	for i := range s.names {
		s.names[i].use, s.names[i].capacity = holdfast.ModeSlots, capacity
	}
}
