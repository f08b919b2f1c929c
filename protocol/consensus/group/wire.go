package group

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/storage"
)

// maxContext is the maximum length of a context: the number of a read, or a word.
const maxContext = 64

// Code codes the vote as a number, which takes one byte if there is none, as in most messages.
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

// Code omits an entry's effect on the members: each member determines that by itself.
func (e *Entry) Code(c *wire.Coder) {
	e.codeHead(c)
	c.Data(&e.Data, storage.MaxPart)
}

// code goes through an entry as it is kept.
func (e *Entry) code(c *wire.Coder) {
	e.codeHead(c)
	c.Rest(&e.Data)
}

func (e *Entry) codeHead(c *wire.Coder) {
	wire.Enum(c, &e.Kind, LastEntryKind)
	wire.Number(c, &e.Index)
	wire.Number(c, &e.Term)
}

func (h *hardState) code(c *wire.Coder) {
	wire.Number(c, &h.term)
	wire.Number(c, &h.vote)
	wire.Number(c, &h.commit)
}

// Code goes through a mark as it is kept, too.
func (m *Mark) Code(c *wire.Coder) {
	wire.Number(c, &m.Index)
	wire.Number(c, &m.Term)
	c.Bool(&m.Conf.AutoLeave)
	wire.Numbers(c, &m.Conf.Voters)
	wire.Numbers(c, &m.Conf.Learners)
	wire.Numbers(c, &m.Conf.Outgoing)
	wire.Numbers(c, &m.Conf.LearnersNext)
}
