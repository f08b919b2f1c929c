package permission

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

func probes() probe.Probes {
	return probe.Probes{
		Draw: draw, Costs: costs, PeerProbe: peers{},
		Known: func(o protocol.Options) probe.Known { return probe.Known{Capacity: o.(*Options).Capacity} },
		Timed: append(local.Fields(), []probe.Field{
			{In: Machine{}, Name: "openFrom", Kind: probe.Deadline},
			{In: Machine{}, Name: "clockDue", Kind: probe.Deadline},
			{In: Machine{}, Name: "leaseDue", Kind: probe.Deadline},
			{In: peer{}, Name: "probeFrom", Kind: probe.Deadline, Unless: "unanswered"},
		}...),
		Unordered: unordered,
	}
}

// unordered are the fields that distinguish no states if no time passes.
func unordered(int) []probe.Field {
	fields := []probe.Field{{In: peer{}, Name: "clock"}} // it is compared with what is 2²⁰ tokens away
	if !protocol.Mutated("clock follows the last message") {
		fields = append(fields, probe.Field{In: Machine{}, Name: "lastStamp"}) // the next stamp goes by the clock, which is no lower
	}
	return fields
}

// draw draws the options of a space. If each name is several entries, every lock is one of them.
func draw(r *probe.Run) {
	if r.IntN(3) == 0 {
		r.Set("defer", true)
	}
	if r.IntN(3) == 0 {
		r.Set("retain", true)
	}
	if capacity := 1 + r.IntN(r.Members+1); r.IntN(4) == 0 {
		r.Set("capacity", capacity)
		r.Capacity = capacity
	}
}

// costs are Ricart and Agrawala's: a request to each of the others and a reply from each, in any mode, as long as no
// other user wants the name.
func costs(members int) []probe.Cost {
	cycle := 2 * (members - 1)
	costs := []probe.Cost{
		{Deed: probe.CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeShared}, Least: cycle, Most: cycle, Formula: "2 (n - 1)"},
		{Deed: probe.CycleElsewhere, Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}, Least: cycle, Most: cycle, Formula: "2 (n - 1)"},
		{Deed: probe.HandOver, Least: 2 * cycle, Most: 2 * cycle, Formula: "2 * 2 (n - 1)"},
	}
	for _, deed := range []probe.Deed{probe.CycleAtCoordinator, probe.CycleElsewhere} {
		costs = append(costs, probe.Cost{Deed: deed, Least: cycle, Most: cycle, Formula: "2 (n - 1)"})
	}
	// The holder of the name has also asked for it.
	return append(costs, probe.Cost{Deed: probe.TryRefused, Least: cycle, Most: cycle, Tail: cycle, Formula: "2 (n - 1)"})
}

// peers reads the state of members and their messages.
type peers struct{}

// PeerRequestIn returns the number of a request for an exclusive lock, and the reign of its stamp. A request that does
// not wait has no place: a member that refuses it forgets it.
func (peers) PeerRequestIn(m any) (probe.PeerRequest, bool) {
	r, is := m.(Request)
	return probe.PeerRequest{Name: r.Name, Number: r.Number, Reign: protocol.Epoch{Counter: r.Clock >> 32}}, is && r.Mode == holdfast.ModeExclusive && !r.Try
}

// Request reads off a space which request of a client asks by a number, or has entered by it. None does that
// has ended, or has to wait for its turn at this member.
func (peers) Request(space protocol.Machine, number uint64) (session lock.SessionID, request uint64, waits bool) {
	r := space.(*Machine).active[number]
	if r == nil {
		return lock.SessionID{}, 0, false
	}
	return r.Key.Session, r.Key.ID, !r.Held
}

// Heard reads off a space whether it has taken in a peer's request: everything that is stamped here from
// now on is younger, and needs the peer's permission.
func (peers) Heard(space protocol.Machine, from protocol.ID, message any) bool {
	m := space.(*Machine)
	r, is := message.(Request)
	if !is || !m.standing.Admitted() || m.peerAt(from) < 0 {
		return false
	}
	p := &m.peers[m.peerAt(from)]
	return r.Tag == m.standing.TagOf(p.place) && p.clock >= r.Clock && !p.harmless
}

// Dealings returns a member's dealings with its peers.
func (peers) Dealings(space protocol.Machine) probe.Dealings {
	m := space.(*Machine)
	d := probe.Dealings{Keeps: m.recent.count}
	//tidy:unordered they are counted
	for _, nm := range m.names {
		held := 0
		for _, r := range nm.active() {
			if r.Held {
				held++
			} else {
				d.Waits++
			}
		}
		d.Holds += held
		if held == 0 && len(nm.debts) > 0 && len(nm.active()) > 0 {
			d.Defers++
		}
	}
	return d
}

// Meets reports whether a request reclaims a permission, and whether the request that a reply names has ended, with the
// number that it settles.
func (p peers) Meets(space protocol.Machine, from protocol.ID, message any) probe.Meeting {
	switch message := message.(type) {
	case Request:
		if nm := space.(*Machine).names[message.Name]; nm != nil && slices.Contains(nm.kept, from) {
			return probe.MeetsKept
		}
	case Reply:
		session, _, _ := p.Request(space, message.Number)
		switch {
		case message.Count > 1:
			return probe.MeetsSeveral
		case session == (lock.SessionID{}) && p.Dealings(space).Waits > 0:
			return probe.MeetsNewer
		}
	}
	return probe.MeetsNothing
}
