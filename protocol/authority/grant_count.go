package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// GrantCount is the number of grants that an authority has given to a member's clients.
type GrantCount struct {
	Member protocol.ID
	Grants int
}

// counter counts grants, without repeated reports of them. Every grant has a separate token, above all earlier ones:
// each is therefore counted once, however often it is reported, and neither a replaced hold limit nor an inherited
// table's entries count.
type counter struct {
	last  holdfast.Token // of the grants that have been counted
	own   int            // grants to this member's own clients; those to others their peers have
	given bool           // some were counted since the last call
}

// beginGrantCount starts a reign's count, without earlier grants.
func (m *Machine) beginGrantCount() {
	if table := m.authority.table; m.config.GrantCount {
		m.authority.counter.last = lock.Token(table.Reign(), table.Count())
	}
}

// counts reports whether a decision is an uncounted grant.
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

// GrantCount returns this authority's grants since the last call or since its reign began, and resets the count: first
// those to its own clients, then those to each other member of the view, in the view's order. Members outside the view
// are not counted.
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

// Size returns the number of holders, waiters and unacknowledged decisions in this member's table, which it would hand
// over.
func (m *Machine) Size() int {
	c := m.authority
	return c.table.Holds() + c.table.Waiters() + len(c.unacked)
}
