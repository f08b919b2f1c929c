package shard

import (
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/storage"
)

func (m *Beat) Code(c *wire.Coder) {
	wire.Number(c, &m.ID)
	wire.List(c, &m.Sessions)
}

func (m *Beaten) Code(c *wire.Coder) {
	wire.Number(c, &m.ID)
	wire.List(c, &m.Gone)
	wire.List(c, &m.Taken)
}

func (m *ReadIndex) Code(c *wire.Coder) {
	wire.Number(c, &m.ID)
	wire.Number(c, &m.Index)
}

func (m *SnapshotPart) Code(c *wire.Coder) {
	wire.Number(c, &m.Index)
	wire.Number(c, &m.Number)
	c.Data(&m.Data, storage.MaxPart)
	c.Bool(&m.Last)
	m.Message.Code(c)
}

func (m *SnapshotAck) Code(c *wire.Coder) {
	wire.Number(c, &m.Index)
	wire.Number(c, &m.Number)
	c.Bool(&m.Refused)
}

func (t *Taken) Code(c *wire.Coder) {
	t.Session.Code(c)
	wire.Number(c, &t.Attached.Client)
	wire.Number(c, &t.Attached.Generation)
}

func (m *RaftMessage) Code(c *wire.Coder) { m.Message.Code(c) }

func (m *ReadRequest) Code(c *wire.Coder) { wire.Number(c, &m.ID) }

func (m *Forward) Code(c *wire.Coder) {
	wire.ListFunc(c, &m.Ops, replica.LeastOp, MostForwarded, (*replica.Op).Code)
}
