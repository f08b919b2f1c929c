package membership

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Messages lists the messages between members about views.
var Messages = []wire.Type{
	wire.Message[Poll](6),
	wire.Message[NewView](7),
	wire.Message[PollAnswer](8),
	wire.Message[ViewAck](9),
	wire.Message[Join](10),
	wire.Message[Unwelcome](11),
	wire.Message[Dropped](12),
	wire.Message[Resign](13),
	wire.Message[JoinDeferred](14),
}

func (p *Poll) Code(c *wire.Coder) {
	p.Epoch.Code(c)
	wire.Number(c, &p.View)
	wire.Number(c, &p.Seq)
	c.Duration(&p.Echo)
	p.Tenure.Code(c)
	c.Duration(&p.Role)
	wire.Number(c, &p.List)
	wire.Optional(c, &p.Pledges)
	wire.Number(c, &p.Recorded)
	wire.Enum(c, &p.Most, protocol.MaxReach)
	wire.List(c, &p.Closed)
	c.Bool(&p.Installed)
	c.Bool(&p.Open)
	c.Duration(&p.Wait)
}

func (m *NewView) Code(c *wire.Coder) {
	m.Poll.Code(c)
	wire.Optional(c, &m.View)
}

func (a *PollAnswer) Code(c *wire.Coder) {
	a.Epoch.Code(c)
	wire.Number(c, &a.View)
	wire.Number(c, &a.Seq)
	c.Duration(&a.At)
	a.Tenure.Code(c)
	wire.Enum(c, &a.Wants, protocol.MaxReach)
	wire.Number(c, &a.Version)
	wire.Enum(c, &a.Pledge, protocol.MaxReach)
	wire.Number(c, &a.Stored)
	c.Bool(&a.Reported)
	c.Bool(&a.Leaving)
	c.Bool(&a.Empty)
	wire.FixedNumbers(c, &a.Unheard)
	wire.Numbers(c, &a.Closed)
}

func (m *Join) Code(c *wire.Coder) {
	m.Self.Code(c)
	wire.Number(c, &m.Version)
	m.Promised.Code(c)
	c.Duration(&m.Lease)
	c.Float(&m.Drift)
	wire.Texts(c, &m.Definitions)
	wire.Texts(c, &m.Founders)
	wire.Fixed(c, &m.Cluster)
	wire.FixedNumbers(c, &m.Hears)
}

func (m *JoinDeferred) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Text(c, &m.Unheard)
}

func (m *Unwelcome) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Text(c, &m.What)
	wire.Text(c, &m.Ours)
	wire.Text(c, &m.Yours)
}

func (m *Dropped) Code(c *wire.Coder) {
	m.Epoch.Code(c)
	m.Tenure.Code(c)
}

func (m *Resign) Code(c *wire.Coder) { m.Epoch.Code(c) }

func (m *ViewAck) Code(c *wire.Coder) { m.Answer.Code(c) }

func (l *Closed) Code(c *wire.Coder) {
	wire.Fixed(c, &l.Member)
	wire.Numbers(c, &l.Ports)
}
