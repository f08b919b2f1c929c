package permission

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Own is how the space is at this member, with what its own clients have.
func (m *Machine) Own(now protocol.Time) *protocol.Condition {
	return m.condition(now, m.counts())
}

// counts is how much this member's own clients have, and whose replies they wait for.
func (m *Machine) counts() Counts {
	c := Counts{Locks: m.table.Names(), Waiters: m.table.Waiters(), Sessions: m.table.Sessions()}
	asking := m.asking()
	for i := range m.peers {
		a := protocol.Awaited{Member: m.self, Reply: m.peers[i].place.id}
		for _, r := range asking {
			if m.awaits(r, &m.peers[i]) {
				a.Requests++
			}
		}
		if a.Requests > 0 {
			c.Awaited = append(c.Awaited, a)
		}
	}
	return c
}

// awaits reports whether a request waits for a peer's reply.
func (m *Machine) awaits(r *request, p *peer) bool { return !p.harmless && r.boundOf(p.place.id) != 0 }

// everybody lists the members of the view: all of them decide.
func (m *Machine) everybody() (ids []protocol.ID) {
	if m.view == nil {
		return nil
	}
	for _, member := range m.view.Members {
		ids = append(ids, member.ID)
	}
	return ids
}

// condition says how the space is.
func (m *Machine) condition(now protocol.Time, counts Counts) *protocol.Condition {
	c := &protocol.Condition{
		State: protocol.Unavailable, Until: protocol.Never, Class: holdfast.Fenced, Closed: m.instance.Closed(),
		Locks: counts.Locks, Waiters: counts.Waiters, Sessions: counts.Sessions,
		Awaited: counts.Awaited,
	}
	switch {
	case m.view == nil:
		c.Why = "there is no view yet"
		return c
	case m.halted:
		c.Why = "a coordinator is being elected"
		return c
	case !m.admitted():
		c.Why = "this member's lease has run out, and it is not admitted again yet"
		return c
	}
	c.Authority, c.Reign = m.everybody(), m.view.Epoch.Counter
	switch {
	case !m.learned:
		c.State, c.Why = protocol.Recovering, "waiting for the clocks of the others"
	case m.absent != 0 && m.config.Capacity == 0:
		c.State, c.Why = protocol.Recovering, "waiting until nobody who has left can hold anything"
		if m.openFrom != protocol.Never {
			c.Until = m.openFrom
		}
	case m.clock&countOf >= lock.MaxCount:
		c.State, c.Why = protocol.Recovering, "the epoch's tokens are used up; a new epoch is about to begin"
	default:
		c.State = protocol.Ready
	}
	return c
}
