package authority

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// condition returns the space's condition, as far as this member itself knows.
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
	m.standing(now, c)
	return c
}

// conditionHere returns the space's condition as far as this member itself knows: as well as possible, if another one
// decides.
func (m *Machine) conditionHere(now protocol.Time) *protocol.Condition {
	c := m.condition(now)
	if m.authority == nil && len(c.Authority) > 0 && c.Why == "" {
		c.State = protocol.Ready
	}
	return c
}

// standing returns the space's state and the reason, as far as this member itself knows.
func (m *Machine) standing(now protocol.Time, c *protocol.Condition) {
	switch {
	case m.view == nil:
		c.Why = "there is no view yet"
		return
	case m.halted:
		c.Why = "the " + m.config.Title + " is being elected"
		return
	case !m.admitted():
		c.Why = "this member's lease has run out, and it is not admitted again yet"
		return
	}
	if m.reign.Authority == 0 {
		m.vacantCondition(now, c)
		return
	}
	c.Authority, c.Reign = []protocol.ID{m.reign.Authority}, m.reign.Number
	if m.authority != nil {
		m.authorityCondition(now, c)
	}
}

// Unavailable returns the ErrUnavailable of an operator's call while this member is in no view that decides.
func (m *Machine) Unavailable(now protocol.Time) error { return m.unavailable(now) }

// unavailable is the ErrUnavailable of a request that no authority has decided in time: why,
// and until when that is likely to last.
func (m *Machine) unavailable(now protocol.Time) error {
	c := protocol.Condition{State: protocol.Unavailable, Until: protocol.Never}
	m.standing(now, &c)
	otherwise := "no " + m.config.Title + " is known yet"
	if m.authority == nil && m.reign.Authority != 0 {
		name := m.view.Name(m.reign.Authority)
		if otherwise = fmt.Sprintf("no answer yet from the %s, %s", m.config.Title, name); m.holder.stage != known {
			otherwise = fmt.Sprintf("the %s, %s, does not know yet what is held through this member", m.config.Title, name)
		}
	}
	return c.Unavailable(now, otherwise)
}

// explain adds to a refusal's reason what its table does not know: why nothing is granted, and that the holder's member
// was lost.
func (m *Machine) explain(now protocol.Time, d *lock.Decision) {
	if d.Kind != lock.Refused {
		return
	}
	if d.Err == holdfast.ErrUnavailable {
		d.Err = m.unavailable(now)
		return
	}
	by, held := d.Err.(*lock.HeldBy)
	if !held || by.Holder.Member == 0 {
		return
	}
	holder := protocol.ID(by.Holder.Member)
	if member, listed := m.view.Of(holder); listed && member.Tenure.Incarnation == by.Holder.Number>>32 {
		return
	}
	for _, gone := range m.authority.departed {
		if gone.id != holder || gone.tenure.Incarnation != by.Holder.Number>>32 {
			continue
		}
		free := gone.free
		if free == protocol.Never {
			free = m.view.Opens(now)
		}
		if by.Gone = true; free != protocol.Never {
			by.Left = max(by.Left, free-now)
		}
	}
}

// vacantCondition returns the condition of a space without a known deciding member: one that needs an authority will
// find one, or become it.
func (m *Machine) vacantCondition(now protocol.Time, c *protocol.Condition) {
	c.State = protocol.Ready
	switch {
	case m.config.Terms.From(m.view) == protocol.Never:
		c.State, c.Why, c.Until = protocol.Recovering, m.lost.Why(), m.view.Opens(now)
	case len(c.Transfers) > 0:
		c.State, c.Why = protocol.Transferring, "the table is on its way to this member"
	}
}

// authorityCondition returns the condition at an authority: why it does not grant, or that it does.
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
		var missing []string
		for _, p := range m.authority.peers {
			if !p.reported {
				missing = append(missing, m.view.Name(p.id))
			}
		}
		c.State, c.Why = protocol.Recovering, "waiting for what is held through "+strings.Join(missing, ", ")
	case !m.view.Installed:
		c.State, c.Why = protocol.Recovering, "the view is not installed yet"
	case now < from:
		if c.State, c.Until = protocol.Recovering, from; from == protocol.Never {
			c.Until = m.view.Opens(now)
		}
		c.Why = m.lost.Why()
	case m.authority.table.Exhausted():
		c.State, c.Why = protocol.Recovering, "the reign's tokens are used up; a new reign is about to begin"
	default:
		c.Why = "the " + m.config.Title + "'s lease has run out"
	}
}
