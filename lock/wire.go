package lock

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

func (s *SessionID) Code(c *wire.Coder) {
	wire.Fixed(c, &s.Member)
	wire.Number(c, &s.Number)
}

// codeAttributes codes a request's attributes.
func codeAttributes(c *wire.Coder, a *holdfast.Attributes) {
	CodeShape(c, &a.Shape)
	wire.Text(c, &a.Owner)
	wire.Text(c, &a.Reason)
	c.Duration(&a.Hold)
	wire.TextUpTo(c, &a.Value, holdfast.MaxValue)
	wire.Number(c, &a.Revision)
	wire.Enum(c, &a.Deadlock, holdfast.Fail)
}

// CodeShape codes the shape of a lock.
func CodeShape(c *wire.Coder, s *holdfast.Shape) {
	wire.Enum(c, &s.Mode, holdfast.ModeSlots)
	c.Int(&s.Units)
	c.Int(&s.Capacity)
}

func (a *Amendment) Code(c *wire.Coder) {
	wire.Number(c, &a.Revision)
	wire.TextUpTo(c, &a.Value, holdfast.MaxValue)
}

func (e *Entry) Code(c *wire.Coder) {
	wire.Text(c, &e.Name)
	e.Session.Code(c)
	wire.Number(c, &e.Request)
	codeAttributes(c, &e.Attributes)
	wire.Text(c, &e.Client)
	wire.Number(c, &e.Token)
	c.Duration(&e.Age)
	c.Duration(&e.Left)
	c.Bool(&e.Revoked)
	c.Bool(&e.Try)
	wire.Number(c, &e.Turn)
}

func (l *Lock) Code(c *wire.Coder) {
	wire.Text(c, &l.Name)
	CodeShape(c, &l.Shape)
	wire.Number(c, &l.Token)
	wire.List(c, &l.Holders)
	wire.List(c, &l.Waiters)
	wire.List(c, &l.History)
}

func (g *Grant) Code(c *wire.Coder) {
	g.Session.Code(c)
	codeAttributes(c, &g.Attributes)
	wire.Text(c, &g.Client)
	wire.Number(c, &g.Token)
	c.Duration(&g.Since)
	c.Duration(&g.Until)
	c.Int(&g.Holds)
	c.Bool(&g.Revoked)
	c.Bool(&g.Grace)
}

func (w *Wait) Code(c *wire.Coder) {
	w.Session.Code(c)
	codeAttributes(c, &w.Attributes)
	wire.Text(c, &w.Client)
	wire.Number(c, &w.Request)
	c.Duration(&w.Since)
	c.Duration(&w.Until)
	wire.FixedNumbers(c, &w.For)
}

func (h *HeldBy) Code(c *wire.Coder) {
	wire.Text(c, &h.Owner)
	c.Int(&h.Others)
	h.Holder.Code(c)
	c.Duration(&h.Age)
	c.Bool(&h.Suspended)
	wire.Text(c, &h.Reason)
	c.Bool(&h.Gone)
	c.Bool(&h.Grace)
	c.Duration(&h.Left)
}

func (u *Unavailable) Code(c *wire.Coder) {
	wire.Text(c, &u.Why)
	c.Duration(&u.Left)
}
