package authority

import (
	"math"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Messages lists the messages between holders and authorities.
var Messages = []wire.Type{
	wire.Message[Acquire](32),
	wire.Message[Release](33),
	wire.Message[Extend](34),
	wire.Message[EndSession](35),
	wire.Message[Decided](36),
	wire.Message[InfoRequest](37),
	wire.Message[InfoAnswer](38),
	wire.Message[Acks](39),
	wire.Message[Query](40),
	wire.Message[Answer](41),
	wire.Message[Revalidate](42),
	wire.Message[Amend](43),
}

// leastDecision is the minimum size of a Decided without its stamp.
const leastDecision = 21

func (s *Stamp) Code(c *wire.Coder) {
	s.Epoch.Code(c)
	s.Version.Code(c)
	s.Tenure.Code(c)
	wire.Numbers(c, &s.Acks)
	c.Bool(&s.Known)
}

// Code uses one byte if it is zero, as it is in every epoch with one reign.
func (v *Version) Code(c *wire.Coder) {
	given := *v != (Version{})
	if c.Bool(&given); given {
		wire.Number(c, &v.Epoch)
		wire.Number(c, &v.Number)
	}
}

func (e *Ended) Code(c *wire.Coder) {
	e.Session.Code(c)
	wire.Number(c, &e.Seq)
}

func (r *Released) Code(c *wire.Coder) {
	r.Ended.Code(c)
	wire.Number(c, &r.Last)
}

func (m *Acquire) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Entry.Code(c)
	wire.List(c, &m.After)
	wire.Number(c, &m.Low)
}

func (m *Release) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Ended.Code(c)
	wire.Text(c, &m.Name)
	wire.Number(c, &m.Last)
	c.Bool(&m.Awaited)
}

func (m *Extend) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Ended.Code(c)
	wire.Text(c, &m.Name)
	wire.Number(c, &m.Token)
	c.Duration(&m.Hold)
	wire.Number(c, &m.Number)
}

func (m *Amend) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Ended.Code(c)
	wire.Text(c, &m.Name)
	m.Amendment.Code(c)
}

func (m *EndSession) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Ended.Code(c)
	wire.Text(c, &m.Why)
}

func (m *Decided) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.codeDecision(c)
}

// codeDecision goes through the fields of a Decided other than its stamp.
func (m *Decided) codeDecision(c *wire.Coder) {
	m.Ended.Code(c)
	wire.Enum(c, &m.Kind, lock.Amended)
	wire.Text(c, &m.Name)
	wire.Number(c, &m.Token)
	c.Duration(&m.Hold)
	c.Int(&m.Position)
	wire.Text(c, &m.Loss)
	lock.CodeError(c, &m.Err)
	c.Bool(&m.Keep)
	wire.Number(c, &m.Extension)
	wire.Number(c, &m.Amendment)
	wire.Number(c, &m.AckID)
}

func (m *InfoRequest) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	wire.Number(c, &m.Chunk)
}

func (m *InfoAnswer) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	wire.Number(c, &m.Chunk)
	c.Bool(&m.Last)
	wire.List(c, &m.Entries)
	wire.List(c, &m.Released)
}

func (m *Query) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Query.Code(c)
}

func (m *Answer) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	m.Answer.Code(c)
}

// Code omits the stamps of decisions: the heir adds its own.
func (h *Handover) Code(c *wire.Coder) {
	wire.Number(c, &h.Reign)
	wire.Number(c, &h.Count)
	wire.Number(c, &h.Epoch)
	wire.Number(c, &h.View)
	wire.List(c, &h.Entries)
	wire.ListFunc(c, &h.Unacked, leastDecision, math.MaxInt, (*Decided).codeDecision)
}

func (m *Acks) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	wire.Number(c, &m.View)
}

func (m *Revalidate) Code(c *wire.Coder) {
	m.Stamp.Code(c)
	wire.Number(c, &m.View)
}
