package bakery

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// messages lists the messages between members, except the queries of package local.
var messages = []wire.Type{
	wire.Message[Started](128),
	wire.Message[Elect](129),
	wire.Message[Elected](130),
	wire.Message[Leaders](131),
	wire.Message[Refused](132),
	wire.Message[Exhausted](133),
	wire.Message[Envelope](134, bodies...),
}

// bodies lists the types that envelopes carry.
var bodies = []wire.Type{
	wire.Message[Heard](160),
	wire.Message[Entering](161),
	wire.Message[Entered](162),
	wire.Message[GetMax](163),
	wire.Message[Max](164),
	wire.Message[Add](165),
	wire.Message[Added](166),
	wire.Message[Exiting](167),
	wire.Message[Ready](168),
	wire.Message[Activate](169),
	wire.Message[Activated](170),
	wire.Message[Drop](171),
	wire.Message[Tickets](172),
	wire.Message[Lock](173),
	wire.Message[Unlock](174),
	wire.Message[Claim](175),
	wire.Message[Raise](176),
	wire.Message[Locked](177),
	wire.Message[Queued](178),
	wire.Message[Failed](179),
	wire.Message[Unlocked](180),
	wire.Message[Unlocking](181),
}

func (m *Started) Code(c *wire.Coder) {
	m.Tag.Code(c)
	m.Candidate.Code(c)
	m.Known.Code(c)
	m.Promised.Code(c)
	c.Bool(&m.Serves)
	c.Bool(&m.Used)
}

func (m *Elect) Code(c *wire.Coder) {
	m.Tag.Code(c)
	m.Election.Code(c)
}

func (m *Elected) Code(c *wire.Coder) {
	m.Tag.Code(c)
	m.Term.Code(c)
}

func (m *Leaders) Code(c *wire.Coder) {
	m.Tag.Code(c)
	m.Election.Code(c)
	wire.List(c, &m.Candidates)
}

func (m *Refused) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Enum(c, &m.Why, RefusedEpoch)
	wire.FixedNumbers(c, &m.Missing)
	wire.List(c, &m.Candidates)
}

func (m *Exhausted) Code(c *wire.Coder) {
	m.Tag.Code(c)
	wire.Number(c, &m.Epoch)
}

func (t *Term) Code(c *wire.Coder) {
	wire.Number(c, &t.Epoch)
	wire.Number(c, &t.View)
}

func (e *Election) Code(c *wire.Coder) {
	e.Term.Code(c)
	wire.List(c, &e.Leaders)
	e.After.Code(c)
	wire.List(c, &e.AfterLeaders)
	wire.Number(c, &e.Count)
}

func (v *Candidate) Code(c *wire.Coder) {
	wire.Fixed(c, &v.ID)
	c.Int(&v.Priority)
	wire.Number(c, &v.Random)
	wire.Text(c, &v.Address)
	c.Int(&v.PID)
	wire.Text(c, &v.Name)
	c.Bool(&v.Guest)
}

// Carried returns the body.
func (m Envelope) Carried() any { return m.Body }

func (m *Envelope) Code(c *wire.Coder) {
	m.Term.Code(c)
	m.From.Code(c)
	m.To.Code(c)
	wire.Number(c, &m.Seq)
	wire.Number(c, &m.Seen)
	wire.Body(c, &m.Body, bodies)
}

func (k *Key) Code(c *wire.Coder) {
	wire.Fixed(c, &k.Member)
	wire.Number(c, &k.Incarnation)
	wire.Number(c, &k.Number)
}

func (t *Ticket) Code(c *wire.Coder) {
	t.Key.Code(c)
	t.For.Code(c)
	wire.Text(c, &t.Name)
	lock.CodeShape(c, &t.Shape)
	c.Bool(&t.Try)
	wire.Text(c, &t.Owner)
	t.Session.Code(c)
}

func (m *Entering) Code(c *wire.Coder) {
	m.Ticket.Code(c)
	wire.Number(c, &m.Serial)
}

func (m *Entered) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Number(c, &m.Max)
	c.Int(&m.Capacity)
	wire.Optional(c, &m.By)
}

func (m *Max) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Number(c, &m.Max)
}

func (m *Add) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Number(c, &m.Number)
	c.Bool(&m.Activate)
	wire.Number(c, &m.Count)
}

func (m *Added) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.List(c, &m.Entering)
	c.Bool(&m.Activated)
	m.Vote.Code(c)
}

func (v *Choosing) Code(c *wire.Coder) {
	v.Key.Code(c)
	wire.Fixed(c, &v.Master)
	wire.Number(c, &v.Serial)
}

func (v *Vote) Code(c *wire.Coder) {
	c.Bool(&v.First)
	wire.List(c, &v.Before)
	wire.Number(c, &v.Count)
}

func (t *TicketUnits) Code(c *wire.Coder) {
	t.Key.Code(c)
	c.Int(&t.Units)
}

func (m *Exiting) Code(c *wire.Coder) {
	m.Key.Code(c)
	c.Bool(&m.Ready)
	c.Bool(&m.Activate)
	wire.Number(c, &m.Count)
}

func (m *Activate) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Number(c, &m.Count)
}

func (m *Activated) Code(c *wire.Coder) {
	m.Key.Code(c)
	m.Vote.Code(c)
}

func (m *Tickets) Code(c *wire.Coder) {
	wire.List(c, &m.Names)
	wire.Number(c, &m.Floor)
	c.Bool(&m.Done)
}

func (n *NameState) Code(c *wire.Coder) {
	wire.Text(c, &n.Name)
	wire.Number(c, &n.Count)
	wire.List(c, &n.Tickets)
}

func (n *Numbered) Code(c *wire.Coder) {
	n.Ticket.Code(c)
	wire.Number(c, &n.Number)
	n.Master.Code(c)
	c.Bool(&n.Accepted)
	c.Duration(&n.Left)
}

func (m *Unlocking) Code(c *wire.Coder) {
	m.Key.Code(c)
	c.Duration(&m.Left)
}

func (m *Claim) Code(c *wire.Coder) {
	wire.List(c, &m.Claims)
	c.Bool(&m.Done)
}

func (v *Claimed) Code(c *wire.Coder) {
	v.Ticket.Code(c)
	wire.Number(c, &v.Token)
	c.Duration(&v.Age)
}

func (m *Raise) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Number(c, &m.Above)
}

func (m *Locked) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Number(c, &m.Token)
}

func (m *Queued) Code(c *wire.Coder) {
	m.Key.Code(c)
	c.Int(&m.Position)
}

func (m *Failed) Code(c *wire.Coder) {
	m.Key.Code(c)
	wire.Enum(c, &m.Why, FailedLimit)
	c.Int(&m.Limit)
	c.Int(&m.Capacity)
	wire.Optional(c, &m.By)
}

func (m *GetMax) Code(c *wire.Coder) { m.Key.Code(c) }

func (m *Ready) Code(c *wire.Coder) { m.Key.Code(c) }

func (m *Drop) Code(c *wire.Coder) { m.Key.Code(c) }

func (m *Unlock) Code(c *wire.Coder) { m.Key.Code(c) }

func (m *Unlocked) Code(c *wire.Coder) { m.Key.Code(c) }

func (m *Lock) Code(c *wire.Coder) { m.Ticket.Code(c) }

// Code has nothing to go through.
func (m *Heard) Code(*wire.Coder) {}
