package claim

import (
	"github.com/holdfast-locks/holdfast/protocol"
)

// Own returns the space's condition at this member, counting only its own clients.
func (m *Machine) Own(now protocol.Time) *protocol.Condition { return m.survey.Own(now) }

// condition returns the space's condition: the store decides.
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
