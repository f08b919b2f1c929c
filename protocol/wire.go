package protocol

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Code codes the fields.
func (e *Epoch) Code(c *wire.Coder) {
	wire.Number(c, &e.Counter)
	wire.Fixed(c, &e.Candidate)
}

// Code codes the fields.
func (t *Tenure) Code(c *wire.Coder) {
	wire.Number(c, &t.Incarnation)
	wire.Number(c, &t.Lapses)
}

func (v *Condition) Code(c *wire.Coder) {
	wire.Enum(c, &v.State, Ready)
	wire.Text(c, &v.Why)
	c.Duration(&v.Until)
	wire.FixedNumbers(c, &v.Authority)
	wire.Number(c, &v.Reign)
	wire.Enum(c, &v.Class, holdfast.Fenced)
	c.Int(&v.Locks)
	c.Int(&v.Waiters)
	c.Int(&v.Sessions)
	wire.Fixed(c, &v.Elder)
	wire.Number(c, &v.Version)
	wire.List(c, &v.Transfers)
	c.Bool(&v.Closed)
	wire.List(c, &v.Awaited)
	wire.List(c, &v.Candidates)
}

func (a *Awaited) Code(c *wire.Coder) {
	wire.Fixed(c, &a.Member)
	wire.Fixed(c, &a.Reply)
	c.Int(&a.Requests)
}

func (v *Candidate) Code(c *wire.Coder) {
	wire.Fixed(c, &v.Member)
	c.Int(&v.Priority)
	c.Bool(&v.Eligible)
	wire.Text(c, &v.Why)
}

func (h *Handover) Code(c *wire.Coder) {
	wire.Fixed(c, &h.From)
	wire.Fixed(c, &h.To)
	c.Duration(&h.Since)
}
