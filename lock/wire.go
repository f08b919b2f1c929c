package lock

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

func (s *SessionID) Code(c *wire.Coder) {
	wire.Fixed(c, &s.Member)
	wire.Number(c, &s.Number)
}

func (e *Entry) Code(c *wire.Coder) {
	wire.Text(c, &e.Name)
	e.Session.Code(c)
	wire.Number(c, &e.Request)
	wire.Text(c, &e.Owner)
	wire.Text(c, &e.Reason)
	wire.Text(c, &e.Client)
	wire.Enum(c, &e.Mode, holdfast.ModeSlots)
	c.Int(&e.Units)
	c.Int(&e.Capacity)
	wire.Number(c, &e.Token)
	c.Duration(&e.Age)
	c.Duration(&e.Left)
	c.Duration(&e.Hold)
	c.Bool(&e.Revoked)
	c.Bool(&e.Try)
	wire.Number(c, &e.Turn)
}

func (l *Lock) Code(c *wire.Coder) {
	wire.Text(c, &l.Name)
	wire.Enum(c, &l.Mode, holdfast.ModeSlots)
	c.Int(&l.Units)
	c.Int(&l.Capacity)
	wire.Number(c, &l.Token)
	wire.List(c, &l.Holders)
	wire.List(c, &l.Waiters)
	wire.List(c, &l.History)
}

func (g *Grant) Code(c *wire.Coder) {
	g.Session.Code(c)
	wire.Text(c, &g.Owner)
	wire.Text(c, &g.Client)
	wire.Text(c, &g.Reason)
	wire.Enum(c, &g.Mode, holdfast.ModeSlots)
	c.Int(&g.Units)
	wire.Number(c, &g.Token)
	c.Duration(&g.Since)
	c.Duration(&g.Until)
	c.Int(&g.Holds)
	c.Bool(&g.Revoked)
	c.Bool(&g.Grace)
}

func (w *Wait) Code(c *wire.Coder) {
	w.Session.Code(c)
	wire.Text(c, &w.Owner)
	wire.Text(c, &w.Client)
	wire.Text(c, &w.Reason)
	wire.Enum(c, &w.Mode, holdfast.ModeSlots)
	c.Int(&w.Units)
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
