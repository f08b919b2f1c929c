package edge

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

const (
	// frameEvents and frameBytes bound a frame, to stay below a client's message limit.
	frameEvents = 8_192
	frameBytes  = 1 << 20
	// keepSlots is the number of events whose memory a frame keeps for reuse.
	keepSlots = 256
	// plainBytes is an upper bound for an event without texts.
	plainBytes = 64
)

// Frame is the reusable memory of a ServerFrame: its Message is valid until Empty.
type Frame struct {
	Message schema.ServerFrame
	slots   []*schema.EventSlot
	used    int
}

// Fill makes messages of the first events of batch and returns their number. A welcome stays together with the events
// that accompany it. Start is the wall time at which the member's clock began.
func (f *Frame) Fill(batch []Outgoing, config *Config, start time.Time) int {
	bytes, bounded := 0, batch[0].saying != sayWelcome
	for i := range batch {
		if bounded && (i == frameEvents || bytes > frameBytes) {
			return i
		}
		t := &batch[i]
		event := f.add(t, config, start)
		f.Message.Events = append(f.Message.Events, event)
		switch {
		case i+1 == len(batch): // the last event
		case t.err != nil || t.name != "" || t.roster != nil:
			bytes += proto.Size(event)
		default:
			bytes += plainBytes
		}
	}
	return len(batch)
}

// Empty makes the frame ready to be filled again.
func (f *Frame) Empty() {
	for _, s := range f.slots[:f.used] {
		s.Event.Kind = nil
		s.Refused.Refused.Problem = nil
		s.Released.Released.Problem = nil
	}
	if len(f.slots) > keepSlots {
		clear(f.slots[keepSlots:])
		f.slots = f.slots[:keepSlots]
	}
	f.used = 0
	if f.Message.Events = emptied(f.Message.Events); cap(f.Message.Events) > 2*keepSlots {
		f.Message.Events = nil
	}
}

// add makes the message of one event.
func (f *Frame) add(t *Outgoing, c *Config, start time.Time) *schema.Event {
	if f.used == len(f.slots) {
		f.slots = append(f.slots, schema.NewEventSlot())
	}
	s := f.slots[f.used]
	f.used++
	s.Event.Id = t.id
	switch t.saying {
	case sayWelcome:
		s.Event.Kind = &schema.Event_Welcome{Welcome: c.welcome(t)}
	case sayGranted:
		s.Granted.Granted.Token = uint64(t.token)
		s.Granted.Granted.Since = start.Add(t.since).UnixNano()
		s.Granted.Granted.Hold = int64(t.span)
		s.Granted.Granted.Grace = t.span > 0 && c.hasGrace(t.port)
		s.Event.Kind = &s.Granted
	case sayQueued:
		s.Queued.Queued.Position = t.position
		s.Event.Kind = &s.Queued
	case sayRefused:
		s.Refused.Refused.Problem = c.problem(t)
		s.Event.Kind = &s.Refused
	case sayReleased:
		if t.err != nil {
			s.Released.Released.Problem = c.problem(t)
		}
		s.Event.Kind = &s.Released
	case sayLost:
		s.Event.Kind = &schema.Event_Lost{Lost: &schema.Lost{Why: string(t.why), MustRelease: t.mustRelease}}
	case sayExtended:
		s.Event.Kind = &schema.Event_Extended{Extended: &schema.Extended{Hold: int64(t.span)}}
	case sayAmended:
		amended := &schema.Amended{Revision: t.revision}
		if t.err != nil {
			amended.Problem = c.problem(t)
		}
		s.Event.Kind = &schema.Event_Amended{Amended: amended}
	case sayMoved:
		s.Event.Kind = &schema.Event_Moved{Moved: &schema.Moved{Authority: t.roster.Authority, Members: t.roster.Members}}
	case sayBeat:
		s.Beat.Beat.Ttl, s.Beat.Beat.TtlCut = int64(t.span), WhyCut(t.cut)
		s.Event.Kind = &s.Beat
	}
	return &s.Event
}

func (c *Config) hasGrace(port protocol.Port) bool {
	space := c.SpaceAt(port)
	return space != nil && space.Grace
}

func (c *Config) welcome(t *Outgoing) *schema.Welcome {
	member, cluster := c.Identity()
	return &schema.Welcome{
		Session:    t.welcomed.session.String(),
		Secret:     t.welcomed.secret,
		Ttl:        int64(t.span),
		TtlCut:     WhyCut(t.cut),
		Generation: t.welcomed.generation,
		Longer:     t.welcomed.longer,
		Member:     member,
		Authority:  t.roster.Authority,
		Members:    t.roster.Members,
		Cluster:    cluster,
		Durable:    c.Durable,
	}
}

// problem returns why an operation was refused, and for which lock.
func (c *Config) problem(t *Outgoing) *schema.Problem {
	err := t.err
	if _, held := errors.AsType[*lock.HeldBy](err); held {
		err = c.Explain(err)
	}
	if errors.Is(err, session.ErrUnknown) {
		err = api.Fail(api.CodeUnknownSession, "unknown session: it has ended")
	}
	if t.name != "" || t.port != 0 {
		err = &holdfast.Error{Space: c.spaceName(t.port), Name: t.name, Err: err}
	}
	return api.ToProblem(err)
}
