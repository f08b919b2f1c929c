package replica

import (
	"math"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// header is the contents of a snapshot's first part.
type header struct {
	format  string
	version int // the place of the format among formats
	now     Time
	reign   uint64
	table   lock.Chunk // its reign, count and pause

	sessions, gone, done, outcomes, intents, entries int // how many there are
}

func (h *header) code(c *wire.Coder) {
	wire.Text(c, &h.format)
	if h.version = slices.Index(formats[:], h.format); h.version < 0 {
		c.Refuse("its format is %.40q, where this program knows %q; use the program that wrote it, or a newer one", h.format, format)
	}
	c.Duration(&h.now)
	wire.UpTo(c, &h.reign, lock.MaxReign)
	if h.version >= withClients {
		wire.Number(c, &h.table.Reign)
		wire.Number(c, &h.table.Count)
		c.Bool(&h.table.Paused)
	}
	wire.UpTo(c, &h.sessions, math.MaxInt32)
	wire.UpTo(c, &h.gone, MaxMembers)
	wire.UpTo(c, &h.done, MaxMembers)
	wire.UpTo(c, &h.outcomes, math.MaxInt32)
	wire.UpTo(c, &h.intents, math.MaxInt32)
	wire.UpTo(c, &h.entries, math.MaxInt32)
}

func (s *session) code(c *wire.Coder, version int) {
	codeSession(c, &s.ID)
	c.Duration(&s.TTL)
	c.Duration(&s.Opened)
	wire.Text(c, &s.Client)
	wire.Text(c, &s.Identity)
	c.Raw(s.Secret[:])
	if version >= withClients {
		codeAttachments(c, &s.Attached)
		wire.Number(c, &s.Inherited)
	}
	if version >= withTies {
		wire.Number(c, &s.Tied)
	}
	s.ended.code(c)
}

// code codes each range as its distance from the previous one, and its length. They must not touch.
func (e *ended) code(c *wire.Coder) {
	last := uint64(0)
	spans := wire.Elements(c, (*[]span)(e), 2, MaxRanges)
	for i := range spans {
		s := spans[i]
		gap, length := s.first-last, s.last-s.first
		wire.Number(c, &gap)
		wire.Number(c, &length)
		s.first = last + gap
		s.last = s.first + length
		if s.first < last || s.last < s.first || i > 0 && gap < 2 {
			c.Refuse("the ranges of ended numbers overlap")
			return
		}
		if last = s.last; !c.Writing() {
			spans[i] = s
		}
	}
}

func (o *outcome) code(c *wire.Coder) {
	codeSession(c, &o.session)
	wire.Number(c, &o.request.number)
	wire.Enum(c, &o.kind, math.MaxUint8)
	wire.Enum(c, &o.class, uint8(len(classes)-1))
	wire.Number(c, &o.token)
	wire.Text(c, &o.loss)
	if o.kind != lock.Refused && o.kind != lock.Lost && o.kind != lock.Released {
		c.Refuse("request %d of session %v has ended as %d", o.request.number, o.session, o.kind)
	}
}

// codeOver codes an ended intent of its outcome's session.
func (w *intent) codeOver(c *wire.Coder) {
	wire.Text(c, &w.name)
	wire.Text(c, &w.once)
	wire.Number(c, &w.content)
	c.Duration(&w.since)
	w.how.code(c)
}

// codeWanted codes an intent that is held or waited for; its entry has the name.
func (w *intent) codeWanted(c *wire.Coder) {
	wire.Text(c, &w.once)
	wire.Number(c, &w.content)
	w.codeRequests(c)
}

func (w *intent) codeRequests(c *wire.Coder) {
	c.Duration(&w.arrived)
	c.Bool(&w.granted)
	requests := wire.Elements(c, &w.requests, 2, MaxIntentRequests)
	for i := range requests {
		wire.Number(c, &requests[i].number)
		c.Duration(&requests[i].arrived)
	}
}

// codeBy codes the member through which a request has come, if known.
func codeBy(c *wire.Coder, member *uint64, known *bool) {
	if c.Bool(known); *known {
		wire.Number(c, member)
	}
}

// leastEntry is the minimum size of an encoded entry, in bytes.
const leastEntry = 17

func codeEntry(c *wire.Coder, s *lock.Entry, version int) {
	wire.Text(c, &s.Name)
	codeSession(c, &s.Session)
	wire.Number(c, &s.Request)
	codeAttributes(c, &s.Attributes, &s.Client)
	wire.Number(c, &s.Token)
	c.Duration(&s.Age)
	c.Duration(&s.Left)
	c.Duration(&s.Hold)
	c.Bool(&s.Revoked)
	c.Bool(&s.Try)
	wire.Number(c, &s.Turn)
	if version >= withValues {
		codeValue(c, &s.Value)
		wire.Number(c, &s.Revision)
	}
	if version >= withDeadlocks {
		wire.Enum(c, &s.Deadlock, holdfast.Fail)
	}
}
