package permission

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Own returns the space's condition at this member, counting only its own clients.
func (m *Machine) Own(now protocol.Time) *protocol.Condition { return m.survey.Own(now) }

// condition returns the space's condition: all members decide.
func (m *Machine) condition(now protocol.Time, counts *protocol.Condition) *protocol.Condition {
	c, stands := m.clients.Describe(counts)
	if !stands {
		return c
	}
	c.Authority = m.standing.Members()
	switch {
	case !m.learned:
		c.State, c.Why = protocol.Recovering, "waiting for the clocks of the others"
	case m.absent != 0 && m.config.Capacity == 0:
		c.State, c.Why = protocol.Recovering, m.standing.Lost.Why()
		if c.Until = m.openFrom; c.Until == protocol.Never {
			c.Until = m.standing.View.Opens(now)
		}
	case m.clock&countOf >= lock.MaxCount:
		c.State, c.Why = protocol.Recovering, "the epoch's tokens are used up; a new epoch is about to begin"
	default:
		c.State = protocol.Ready
	}
	return c
}
