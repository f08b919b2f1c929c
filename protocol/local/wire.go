package local

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Messages lists the messages between members for operators' calls.
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
	m.Query.Code(c)
}

func (m *Answer) Code(c *wire.Coder) {
	m.Tag.Code(c)
	m.Answer.Code(c)
}
