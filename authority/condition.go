package authority

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
)

// condition says how the space is, as far as this member knows by itself.
func (m *Machine) condition(now protocol.Time) *protocol.Condition {
	c := &protocol.Condition{State: protocol.Unavailable, Until: protocol.Never, Class: m.class(), Closed: m.instance.Closed()}
	c.Elder, c.Version, c.Transfers = m.about.Elder, m.reign.Version.Number, m.about.Transfers
	if m.authority != nil {
		table := m.authority.table
		c.Locks, c.Waiters, c.Sessions = table.Names(), table.Waiters(), table.Sessions()
	}
	if !m.deciding {
		c.Locks += len(m.holder.names)
		c.Sessions += len(m.holder.sessions)
		for r := m.holder.all.first; r != nil; r = r.links[ofAll].next {
			if r.waits() {
				c.Waiters++
			}
		}
	}
	switch {
	case m.view == nil:
		c.Why = "there is no view yet"
		return c
	case m.halted:
		c.Why = "the " + m.config.Title + " is being elected"
		return c
	case !m.admitted():
		c.Why = "this member's lease has run out, and it is not admitted again yet"
		return c
	}
	if m.reign.Authority == 0 {
		m.vacantCondition(c)
		return c
	}
	c.Authority, c.Reign = []protocol.ID{m.reign.Authority}, m.reign.Number
	if m.authority != nil {
		m.authorityCondition(now, c)
	}
	return c
}

// vacantCondition says how a space is where nobody is known to decide: whoever needs an
// authority will find one, or be it.
func (m *Machine) vacantCondition(c *protocol.Condition) {
	c.State = protocol.Ready
	switch {
	case m.config.Terms.From(m.view) == protocol.Never:
		c.State, c.Why = protocol.Recovering, "waiting until what was promised before has run out"
	case len(c.Transfers) > 0:
		c.State, c.Why = protocol.Transferring, "the table is on its way to this member"
	}
}

// authorityCondition says why an authority does not grant, or that it does.
func (m *Machine) authorityCondition(now protocol.Time, c *protocol.Condition) {
	from := m.serveFrom()
	switch {
	case m.serves(now):
		c.State = protocol.Ready
		if _, suspended := m.authority.table.Suspension(); suspended {
			c.State = protocol.Suspended
		} else if m.authority.table.Suspending() > 0 {
			c.Why = "a suspension waits until nothing is held; nothing new is granted meanwhile"
		}
	case !m.authority.served && !m.authority.complete():
		missing := 0
		for _, p := range m.authority.peers {
			if !p.reported {
				missing++
			}
		}
		c.State, c.Why = protocol.Recovering, fmt.Sprintf("waiting for what %d members hold", missing)
	case !m.view.Installed:
		c.State, c.Why = protocol.Recovering, "the view is not installed yet"
	case now < from:
		c.State, c.Until = protocol.Recovering, from
		c.Why = "waiting until what was promised before has run out"
	case m.authority.table.Exhausted():
		c.State, c.Why = protocol.Recovering, "the reign's tokens are used up; a new reign is about to begin"
	default:
		c.Why = "the " + m.config.Title + "'s lease has run out"
	}
}
