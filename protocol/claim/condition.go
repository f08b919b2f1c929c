package claim

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/storage"
)

// Class is what locks by claims in such a store are.
func (o *Options) Class(store storage.Features) holdfast.Class {
	c := Config{Options: *o, Store: store}
	return c.class()
}

// class is what locks by claims are: advisory, as safe as clocks are close together and writes fast; but
// with CAS over a store that loses nothing, fenced: all but the order of those who wait.
func (c *Config) class() holdfast.Class {
	if c.CAS && c.Store.Durable {
		return holdfast.Fenced
	}
	return holdfast.Advisory
}

// Own is how the space is at this member, with what its own clients have.
func (m *Machine) Own(now protocol.Time) *protocol.Condition { return m.survey.Own(now) }

// condition says how the space is: the store decides.
func (m *Machine) condition(counts local.Counts) *protocol.Condition {
	c, stands := m.clients.Describe(counts)
	c.Class = m.config.class()
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
