package server

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
	// frameEvents and frameBytes bound a frame, so that a client's limit of its
	// messages is not met.
	frameEvents = 8_192
	frameBytes  = 1 << 20
	// keepSlots is how many events of memory a frame keeps for the next use.
	keepSlots = 256
	// plainBytes is more than an event without texts takes.
	plainBytes = 64
)

// frame is the memory of a ServerFrame, used again and again: a message is encoded before
// SendMsg returns, and is not read afterwards.
type frame struct {
	message schema.ServerFrame
	slots   []*slot
	used    int
	done    map[outcome]int
}

// outcome is what one kind of call came to in one space.
type outcome struct {
	port protocol.Port
	call call
}

// slot is the memory of one event of the kinds that are told often.
type slot struct {
	event    schema.Event
	granted  schema.Event_Granted
	queued   schema.Event_Queued
	released schema.Event_Released
	beat     schema.Event_Beat

	grantedBody  schema.Granted
	queuedBody   schema.Queued
	releasedBody schema.Released
	beatBody     schema.Beaten
}

func newFrame() *frame { return &frame{done: map[outcome]int{}} }

func newSlot() *slot {
	s := &slot{}
	s.granted.Granted = &s.grantedBody
	s.queued.Queued = &s.queuedBody
	s.released.Released = &s.releasedBody
	s.beat.Beat = &s.beatBody
	return s
}

// fill makes messages of the first events of batch and returns of how many. A
// welcome is not parted from what was told with it.
func (f *frame) fill(batch []outgoing, service *service) int {
	bytes, bounded := 0, batch[0].saying != sayWelcome
	start := service.driver.Wall(0)
	for i := range batch {
		if bounded && (i == frameEvents || bytes > frameBytes) {
			return i
		}
		t := &batch[i]
		f.count(t, service)
		event := f.add(t, start, service)
		f.message.Events = append(f.message.Events, event)
		if t.err != nil || t.text != "" || t.roster != nil {
			bytes += proto.Size(event)
		} else {
			bytes += plainBytes
		}
	}
	return len(batch)
}

// count counts what t says of an operation. What was done is counted together, once
// a frame.
func (f *frame) count(t *outgoing, service *service) {
	switch {
	case t.err != nil:
		service.observer.operation(service.spaceName(t.port), t.call.String(), t.err)
	case t.saying == sayGranted, t.saying == sayExtended, t.saying == sayBeat, t.saying == sayWelcome,
		t.saying == sayReleased && t.call != callRequest:
		f.done[outcome{t.port, t.call}]++
	}
}

// counted tells the observer what was done.
func (f *frame) counted(service *service) {
	//tidy:unordered each is a counter of its own
	for o, n := range f.done {
		service.observer.operations.WithLabelValues(service.spaceName(o.port), o.call.String(), resultOK).Add(float64(n))
	}
	clear(f.done)
}

// empty makes the frame ready to be filled again.
func (f *frame) empty() {
	for _, s := range f.slots[:f.used] {
		s.event.Kind = nil
		s.releasedBody.Problem = nil
	}
	if len(f.slots) > keepSlots {
		clear(f.slots[keepSlots:])
		f.slots = f.slots[:keepSlots]
	}
	f.used = 0
	if f.message.Events = emptied(f.message.Events); cap(f.message.Events) > 2*keepSlots {
		f.message.Events = nil
	}
}

// add makes the message of one event. Start is the wall time at which the driver's
// clock began.
func (f *frame) add(t *outgoing, start time.Time, service *service) *schema.Event {
	if f.used == len(f.slots) {
		f.slots = append(f.slots, newSlot())
	}
	s := f.slots[f.used]
	f.used++
	s.event.Id = t.id
	switch t.saying {
	case sayWelcome:
		s.event.Kind = &schema.Event_Welcome{Welcome: welcome(t, service)}
	case sayGranted:
		s.grantedBody.Token = uint64(t.token)
		s.grantedBody.Since = start.Add(t.since).UnixNano()
		s.grantedBody.Hold = int64(t.span)
		s.grantedBody.Grace = t.span > 0 && service.hasGrace(t.port)
		s.event.Kind = &s.granted
	case sayQueued:
		s.queuedBody.Position = t.position
		s.event.Kind = &s.queued
	case sayRefused:
		s.event.Kind = &schema.Event_Refused{Refused: &schema.Refused{Problem: f.problem(t, service)}}
	case sayReleased:
		if t.err != nil {
			s.releasedBody.Problem = f.problem(t, service)
		}
		s.event.Kind = &s.released
	case sayLost:
		s.event.Kind = &schema.Event_Lost{Lost: &schema.Lost{Why: string(t.why), MustRelease: t.mustRelease}}
	case sayExtended:
		s.event.Kind = &schema.Event_Extended{Extended: &schema.Extended{Hold: int64(t.span)}}
	case sayMoved:
		s.event.Kind = &schema.Event_Moved{Moved: &schema.Moved{Authority: t.roster.authority, Members: t.roster.members}}
	case sayBeat:
		s.beatBody.Ttl, s.beatBody.TtlCut = int64(t.span), t.cut
		s.event.Kind = &s.beat
	}
	return &s.event
}

func welcome(t *outgoing, service *service) *schema.Welcome {
	w := &schema.Welcome{
		Session:    t.opened.id.String(),
		Ttl:        int64(t.span),
		TtlCut:     t.cut,
		Generation: t.generation,
		Member:     service.identity().Member.GetName(),
		Authority:  t.roster.authority,
		Members:    t.roster.members,
		Cluster:    service.identity().Cluster,
		Durable:    service.durable,
	}
	if t.fresh {
		w.Secret = formatSecret(t.opened.secret)
	}
	return w
}

// problem tells why an operation was refused, and of which lock.
func (f *frame) problem(t *outgoing, service *service) *schema.Problem {
	err := t.err
	var held *lock.HeldBy
	if errors.As(err, &held) {
		view := service.view()
		err = service.driver.Explain(err, view.Name)
	}
	if errors.Is(err, session.ErrUnknown) {
		err = api.Fail(api.CodeUnknownSession, "unknown session: it has ended")
	}
	if t.text != "" || t.port != 0 {
		err = &holdfast.Error{Space: service.spaceName(t.port), Name: t.text, Err: err}
	}
	return api.ToProblem(err)
}
