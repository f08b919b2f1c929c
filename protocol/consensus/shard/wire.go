package shard

import (
	"fmt"

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
	wire.ListFunc(c, &m.Ops, replica.LeastOp, MostForwarded, codeOp)
}

// codeOp goes through an operation as it is in an entry.
func codeOp(c *wire.Coder, o *replica.Op) {
	if c.Writing() {
		if err := o.Check(); err != nil {
			c.Fail(fmt.Errorf("%w: %w", wire.ErrRange, err))
			return
		}
		c.SetBytes(o.Append(c.Bytes()))
		return
	}
	taken, rest, err := replica.TakeOp(c.Bytes())
	if err != nil {
		c.Fail(err)
		return
	}
	*o = taken
	c.SetBytes(rest)
}
