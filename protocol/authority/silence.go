package authority

import "github.com/holdfast-locks/holdfast/protocol"

// Two members of a view may not hear each other, or one of them not the other, though the coordinator hears both. A
// member that waits in vain knows it, and a protocol can find one that hears every member.

// Silent returns since when this member waits for others without any message from them: as a holder for the authority;
// as the authority for the reports with which its reign begins, or for a member to which it has repeated a message.
// Never if it does not wait.
func (m *Machine) Silent() protocol.Time {
	switch {
	case m.authority == nil:
		return m.holder.unanswered
	case !m.authority.served && !m.authority.complete():
		return m.authority.requestedAt
	}
	return m.authority.unheard
}

// miss records that a message to a member must be resent, because it has not answered. A holder that hears its
// authority, and is not heard by it, does not know that.
func (c *authority) miss(now protocol.Time, p *peer) {
	p.unheard = min(p.unheard, now)
	c.unheard = min(c.unheard, p.unheard)
}

// hear records that a member was heard.
func (c *authority) hear(p *peer) {
	if p.unheard != protocol.Never {
		p.unheard = protocol.Never
		c.sumUnheard()
	}
}

// sumUnheard finds since when some member of the view is not heard.
func (c *authority) sumUnheard() {
	c.unheard = protocol.Never
	for _, p := range c.peers {
		c.unheard = min(c.unheard, p.unheard)
	}
}
