package claim

import (
	"github.com/holdfast-locks/holdfast/protocol"
)

// Own is how the space is at this member, with what its own clients have.
func (m *Machine) Own(now protocol.Time) *protocol.Condition { return m.survey.Own(now) }

// condition says how the space is: the store decides.
func (m *Machine) condition(counts *protocol.Condition) *protocol.Condition {
	c, stands := m.clients.Describe(counts)
	c.Class = m.config.Class(m.config.Store)
	if !stands {
		return c
	}
	c.Authority = []protocol.ID{m.config.Self}
	switch {
	case m.agreement.refusal != nil:
		c.Why = m.agreement.refusal.Error()
	case !m.agreement.accepted && m.agreement.trouble != nil:
		c.Why = m.agreement.trouble.Error()
	case !m.agreement.accepted:
		c.State, c.Why = protocol.Recovering, "comparing settings with the others who use the store"
	default:
		c.State = protocol.Ready
	}
	return c
}
