package permission

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// messages lists the messages between members, except the queries of package local.
var messages = []wire.Type{
	wire.Message[Request](96),
	wire.Message[Reply](97),
	wire.Message[Free](98),
	wire.Message[Defer](99),
	wire.Message[CapacityConflict](100),
	wire.Message[ClockRequest](101),
	wire.Message[ClockAnswer](102),
}

func (m *Request) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	wire.Number(c, &m.Clock)
	wire.Text(c, &m.Name)
	lock.CodeShape(c, &m.Shape)
	c.Bool(&m.Try)
}

func (m *Reply) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	wire.Number(c, &m.Last)
	c.Int(&m.Count)
	wire.Text(c, &m.Name)
}

func (m *Free) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	wire.Number(c, &m.Last)
	c.Int(&m.Uses)
	m.By.Code(c)
}

func (m *Defer) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	m.By.Code(c)
}

func (m *CapacityConflict) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Number)
	c.Int(&m.Capacity)
}

func (m *ClockRequest) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Clock)
	c.Int(&m.Slot)
}

func (m *ClockAnswer) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Clock)
	c.Int(&m.Slot)
}
