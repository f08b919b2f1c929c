package codec

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// What members ask one another for that lock by permission.

// kindOfPermission is the part of kindOf for these messages.
func kindOfPermission(m protocol.Message) kind {
	switch m.(type) {
	case permission.Request:
		return kindRequest
	case permission.Reply:
		return kindReply
	case permission.Free:
		return kindFree
	case permission.Defer:
		return kindDefer
	case permission.CapacityConflict:
		return kindCapacityConflict
	case permission.ClockRequest:
		return kindClockRequest
	case permission.ClockAnswer:
		return kindClockAnswer
	}
	return kindOfBakery(m)
}

func (c *coder) writePermission(m protocol.Message) {
	switch m := m.(type) {
	case permission.Request:
		c.request(&m)
	case permission.Reply:
		c.reply(&m)
	case permission.Free:
		c.free(&m)
	case permission.Defer:
		c.deferral(&m)
	case permission.CapacityConflict:
		c.capacityConflict(&m)
	case permission.ClockRequest:
		c.clockRequest(&m)
	case permission.ClockAnswer:
		c.clockAnswer(&m)
	default:
		c.writeBakery(m)
	}
}

func (c *coder) readPermission(k kind) protocol.Message {
	switch k {
	case kindRequest:
		var m permission.Request
		c.request(&m)
		return m
	case kindReply:
		var m permission.Reply
		c.reply(&m)
		return m
	case kindFree:
		var m permission.Free
		c.free(&m)
		return m
	case kindDefer:
		var m permission.Defer
		c.deferral(&m)
		return m
	case kindCapacityConflict:
		var m permission.CapacityConflict
		c.capacityConflict(&m)
		return m
	case kindClockRequest:
		var m permission.ClockRequest
		c.clockRequest(&m)
		return m
	case kindClockAnswer:
		var m permission.ClockAnswer
		c.clockAnswer(&m)
		return m
	}
	return c.readBakery(k)
}

func (c *coder) request(v *permission.Request) {
	c.tag(&v.Tag)
	number(c, &v.Number)
	number(c, &v.Clock)
	text(c, &v.Name)
	enum(c, &v.Mode, holdfast.ModeSlots)
	c.count(&v.Units)
	c.count(&v.Capacity)
	c.truth(&v.Try)
}

func (c *coder) reply(v *permission.Reply) {
	c.tag(&v.Tag)
	number(c, &v.Number)
	number(c, &v.Last)
	c.count(&v.Count)
	text(c, &v.Name)
}

func (c *coder) free(v *permission.Free) {
	c.tag(&v.Tag)
	number(c, &v.Number)
	number(c, &v.Last)
	c.count(&v.Uses)
	c.held(&v.By)
}

func (c *coder) deferral(v *permission.Defer) {
	c.tag(&v.Tag)
	number(c, &v.Number)
	c.held(&v.By)
}

func (c *coder) capacityConflict(v *permission.CapacityConflict) {
	c.tag(&v.Tag)
	number(c, &v.Number)
	c.count(&v.Capacity)
}

func (c *coder) clockRequest(v *permission.ClockRequest) {
	c.tag(&v.Tag)
	number(c, &v.Clock)
	c.count(&v.Slot)
}

func (c *coder) clockAnswer(v *permission.ClockAnswer) {
	c.tag(&v.Tag)
	number(c, &v.Clock)
	c.count(&v.Slot)
}
