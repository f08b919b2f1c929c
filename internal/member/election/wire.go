package election

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Messages lists the messages of an election.
var Messages = []wire.Type{
	wire.Message[StatusPoll](1),
	wire.Message[StatusAnswer](2),
	wire.Message[Election](3),
	wire.Message[Promise](4),
	wire.Message[Refuse](5),
}

func (m *Member) Code(c *wire.Coder) {
	wire.Fixed(c, &m.ID)
	wire.Text(c, &m.Name)
	wire.Text(c, &m.Address)
	m.Tenure.Code(c)
	c.Bool(&m.Founder)
	wire.Text(c, &m.HTTP)
	c.Bool(&m.Serves)
	c.Bool(&m.Kept)
	wire.Number(c, &m.Since)
}

func (v *View) Code(c *wire.Coder) {
	wire.Fixed(c, &v.Cluster)
	wire.Number(c, &v.Number)
	v.Epoch.Code(c)
	wire.List(c, &v.Members)
	wire.List(c, &v.Base)
	wire.Texts(c, &v.Terms)
	c.Bool(&v.Installed)
	c.Bool(&v.Open)
	wire.Text(c, &v.Order.Reason)
	wire.Text(c, &v.Order.By)
}

func (e *Electorate) Code(c *wire.Coder) {
	wire.Number(c, &e.Number)
	e.Epoch.Code(c)
	wire.FixedNumbers(c, &e.Voters)
}

func (p *Pledges) Code(c *wire.Coder) {
	wire.Enum(c, &p.Top, protocol.MaxReach)
	wire.Enum(c, &p.Durable, protocol.MaxReach)
	wire.List(c, &p.Of)
}

func (p *Pledge) Code(c *wire.Coder) {
	wire.Fixed(c, &p.ID)
	p.Tenure.Code(c)
	wire.Number(c, &p.Version)
	wire.Enum(c, &p.Reach, protocol.MaxReach)
}

func (m *StatusPoll) Code(c *wire.Coder) { wire.Number(c, &m.Number) }

func (m *StatusAnswer) Code(c *wire.Coder) {
	wire.Number(c, &m.Number)
	m.Self.Code(c)
	c.Int(&m.Priority)
	wire.Enum(c, &m.Status, Normal)
	wire.Fixed(c, &m.Candidate)
	wire.Fixed(c, &m.Coordinator)
	wire.Text(c, &m.Address)
	c.Bool(&m.Well)
	c.Duration(&m.Lease)
	wire.Optional(c, &m.View)
	m.Promised.Code(c)
	wire.Texts(c, &m.Founders)
	wire.Texts(c, &m.Terms)
	c.Bool(&m.Leaving)
	c.Duration(&m.Wait)
}

func (m *Election) Code(c *wire.Coder) {
	m.Epoch.Code(c)
	wire.Optional(c, &m.View)
	wire.Texts(c, &m.Terms)
	c.Bool(&m.Merge)
	c.Bool(&m.NoQuorum)
}

func (m *Promise) Code(c *wire.Coder) {
	m.Epoch.Code(c)
	c.Duration(&m.At)
	m.Self.Code(c)
	c.Int(&m.Priority)
	wire.Optional(c, &m.Accepted)
	wire.Optional(c, &m.Pledges)
	c.Duration(&m.Owes)
	c.Bool(&m.Leaving)
	c.Bool(&m.Empty)
}

func (m *Refuse) Code(c *wire.Coder) {
	m.Epoch.Code(c)
	m.Promised.Code(c)
	c.Bool(&m.Well)
	m.Tenure.Code(c)
	wire.Optional(c, &m.View)
}
