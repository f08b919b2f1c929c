package group

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/storage"
)

// maxContext is how many bytes a context may have: it is the number of a read, or a word.
const maxContext = 64

// Code has a vote as a number, which is one byte where there is none, as in most messages.
func (m *Message) Code(c *wire.Coder) {
	wire.Enum(c, &m.Kind, LastKind)
	wire.Fixed(c, &m.From)
	wire.Fixed(c, &m.To)
	wire.Number(c, &m.Term)
	wire.Number(c, &m.LogTerm)
	wire.Number(c, &m.Index)
	wire.Number(c, &m.Commit)
	wire.Number(c, &m.Vote)
	wire.Number(c, &m.RejectHint)
	c.Bool(&m.Reject)
	c.Data(&m.Context, maxContext)
	wire.List(c, &m.Entries)
	wire.Optional(c, &m.Snapshot)
}

// Code leaves out what an entry means for who is a member: each member finds that out by itself.
func (e *Entry) Code(c *wire.Coder) {
	wire.Enum(c, &e.Kind, LastEntryKind)
	wire.Number(c, &e.Index)
	wire.Number(c, &e.Term)
	c.Data(&e.Data, storage.MaxPart)
}

// Code goes through a mark as it is kept.
func (m *Mark) Code(c *wire.Coder) {
	if c.Writing() {
		c.SetBytes(m.Append(c.Bytes()))
		return
	}
	taken, rest, err := TakeMark(c.Bytes())
	if err != nil {
		c.Fail(err)
		return
	}
	*m = taken
	c.SetBytes(rest)
}
