package grantor

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// messages lists the messages between members that name grantors, in addition to those between holders and authorities.
var messages = []wire.Type{
	wire.Message[Question](64),
	wire.Message[Info](65),
	wire.Message[Depose](66),
	wire.Message[Deposed](67),
	wire.Message[Inquiry](68),
	wire.Message[InquiryAnswer](69),
	wire.Message[TransferRequest](70),
	wire.Message[TransferTable](71),
	wire.Message[Invite](72),
	wire.Message[Invited](73),
	wire.Message[NotGrantor](74),
}

func (p *Place) Code(c *wire.Coder) {
	wire.Fixed(c, &p.ID)
	p.Tenure.Code(c)
	wire.Number(c, &p.Since)
}

func (m *Question) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Number(c, &m.Number)
	wire.Enum(c, &m.Kind, Count)
	m.Version.Code(c)
	wire.Number(c, &m.Reign)
	wire.Number(c, &m.Count)
}

func (m *Info) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Number(c, &m.Number)
	m.Grantor.Code(c)
	m.Version.Code(c)
	c.Bool(&m.Left)
	wire.Enum(c, &m.Beginning, Inheriting)
	m.Previous.Code(c)
	wire.Number(c, &m.Reign)
	wire.Number(c, &m.Count)
}

func (m *Depose) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	m.Grantor.Code(c)
	m.Version.Code(c)
}

func (m *Deposed) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	m.Version.Code(c)
}

func (m *Inquiry) Code(c *wire.Coder) { m.Epoch.Code(c) }

func (m *InquiryAnswer) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Number(c, &m.Since)
	m.Epoch.Code(c)
	c.Bool(&m.Grants)
	m.Version.Code(c)
	wire.Number(c, &m.Reign)
}

func (m *TransferRequest) Code(c *wire.Coder) {
	m.Version.Code(c)
	wire.Number(c, &m.Chunk)
}

func (m *TransferTable) Code(c *wire.Coder) {
	m.Version.Code(c)
	wire.Number(c, &m.Chunk)
	c.Bool(&m.None)
	c.Bool(&m.Last)
	m.Handover.Code(c)
}

func (m *Invite) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Number(c, &m.Number)
}

func (m *Invited) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	wire.Number(c, &m.Number)
	c.Bool(&m.Taken)
	c.Bool(&m.Closed)
}

func (m *NotGrantor) Code(c *wire.Coder) {
	m.Tenure.Code(c)
	m.Version.Code(c)
	m.Grantor.Code(c)
	m.Known.Code(c)
	wire.Number(c, &m.Query)
	wire.Number(c, &m.By)
}
