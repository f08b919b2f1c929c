package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// GrantCount is how many grants an authority has given to the clients of a member.
type GrantCount struct {
	Member protocol.ID
	Grants int
}

// counter tells grants from repeated reports of them. Every grant has a token of its own,
// above all before: so a grant is counted once, however often it is reported, and neither is a
// hold limit that was replaced nor what has come with a table that was inherited.
type counter struct {
	last  holdfast.Token // of the grants that have been counted
	own   int            // grants to this member's own clients; those to others their peers have
	given bool           // some were counted since they were asked for
}

// beginGrantCount lets a reign count from here on, and nothing that was granted before it.
func (m *Machine) beginGrantCount() {
	if table := m.authority.table; m.config.GrantCount {
		m.authority.counter.last = lock.Token(table.Reign(), table.Count())
	}
}

// counts reports whether a decision is a grant that is to be counted, and has not
// been.
func (m *Machine) counts(d *lock.Decision) bool {
	if !m.config.GrantCount || d.Kind != lock.Granted || d.Token <= m.authority.counter.last {
		return false
	}
	m.authority.counter.last, m.authority.counter.given = d.Token, true
	return true
}

// Given reports whether this member is the authority and has given a grant that no GrantCount has
// reported yet. It is always false without Rules.GrantCount.
func (m *Machine) Given() bool { return m.authority != nil && m.authority.counter.given }

// GrantCount returns what this member, the authority, has granted since it was asked last or since
// its reign began, and begins anew: first to its own clients, then to those of each other
// member of the view, in the view's order. Who is not in the view is not counted.
func (m *Machine) GrantCount() []GrantCount {
	c := m.authority
	all := make([]GrantCount, 0, len(c.peers)+1)
	all = append(all, GrantCount{m.self, c.counter.own})
	for _, p := range c.peers {
		all = append(all, GrantCount{p.id, p.grants})
		p.grants = 0
	}
	c.counter.own, c.counter.given = 0, false
	return all
}

// Size returns of how many holders, waiters and decisions that were not acknowledged this
// member's table is, which it would hand over.
func (m *Machine) Size() int {
	c := m.authority
	return c.table.Holds() + c.table.Waiters() + len(c.unacked)
}
