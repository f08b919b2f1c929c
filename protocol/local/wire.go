package local

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Messages lists what members ask one another for operators.
var Messages = []wire.Type{
	wire.Message[Query](103),
	wire.Message[Answer](104),
}

func (p *Place) Code(c *wire.Coder) {
	wire.Fixed(c, &p.ID)
	p.Tenure.Code(c)
	wire.Number(c, &p.Since)
}

func (t *Tag) Code(c *wire.Coder) {
	wire.Number(c, &t.View)
	t.Epoch.Code(c)
	t.Tenure.Code(c)
}

func (m *Query) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	wire.Enum(c, &m.Kind, QueryCount)
	wire.Text(c, &m.Name)
	wire.Number(c, &m.Token)
	wire.Text(c, &m.Reason)
	wire.Text(c, &m.Prefix)
	c.Int(&m.Limit)
	c.Int(&m.Skip)
}

func (m *Answer) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	c.Int(&m.Skip)
	wire.List(c, &m.Locks)
	wire.Text(c, &m.Next)
	c.Int(&m.More)
	wire.List(c, &m.Grants)
	c.Int(&m.Counts.Locks)
	c.Int(&m.Counts.Waiters)
	c.Int(&m.Counts.Sessions)
	wire.List(c, &m.Counts.Awaited)
}
