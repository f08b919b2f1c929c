package codec

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// What members ask one another for operators, where each has a table of its own clients.

// kindOfLocal is the part of kindOf for these messages.
func kindOfLocal(m protocol.Message) kind {
	switch m.(type) {
	case local.Query:
		return kindPeerQuery
	case local.Answer:
		return kindPeerAnswer
	}
	return kindOfConsensus(m)
}

func (c *coder) writeLocal(m protocol.Message) {
	switch m := m.(type) {
	case local.Query:
		c.peerQuery(&m)
	case local.Answer:
		c.peerAnswer(&m)
	default:
		c.writeConsensus(m)
	}
}

func (c *coder) readLocal(k kind) protocol.Message {
	switch k {
	case kindPeerQuery:
		var m local.Query
		c.peerQuery(&m)
		return m
	case kindPeerAnswer:
		var m local.Answer
		c.peerAnswer(&m)
		return m
	}
	return c.readConsensus(k)
}

func (c *coder) tag(v *local.Tag) {
	number(c, &v.View)
	c.epoch(&v.Epoch)
	c.tenure(&v.Tenure)
}

func (c *coder) peerQuery(v *local.Query) {
	c.tag(&v.Tag)
	c.adminQuery(&v.Query)
}

func (c *coder) peerAnswer(v *local.Answer) {
	c.tag(&v.Tag)
	c.adminAnswer(&v.Answer)
}
