package frames

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Events is a server's frame, as a client receives it. Unlike an [Operations] it keeps its memory: a client has one
// stream.
type Events struct {
	list  []*schema.Event
	slots []*schema.EventSlot
	used  int
}

// List returns the events, in order. They are valid until the next frame is read.
func (e *Events) List() []*schema.Event { return e.list }

// Read decodes a frame, and does not keep data. The error is from the general code; the frame must then not be used.
func (e *Events) Read(data []byte) error {
	e.empty()
	plain, err := eachItem(data, func(item []byte) error {
		event, err := e.event(item)
		if err != nil {
			return fmt.Errorf("event %d of the frame: %w", len(e.list)+1, err)
		}
		e.list = append(e.list, event)
		return nil
	})
	switch {
	case !plain:
		frame := &schema.ServerFrame{}
		err = unmarshal(data, frame)
		e.list = frame.GetEvents()
	case err != nil:
		e.list = nil
	}
	return err
}

// empty drops the previous frame, and memory that few frames need.
func (e *Events) empty() {
	if len(e.slots) > keepSlots {
		clear(e.slots[keepSlots:])
		e.slots, e.list = e.slots[:keepSlots:keepSlots], nil
	}
	clear(e.list)
	e.list, e.used = e.list[:0], 0
}

func (e *Events) next() *schema.EventSlot {
	if e.used == len(e.slots) {
		e.slots = append(e.slots, schema.NewEventSlot())
	}
	e.used++
	return e.slots[e.used-1]
}

// event decodes one event.
func (e *Events) event(data []byte) (*schema.Event, error) {
	slot := e.next()
	event := &slot.Event
	event.Id, event.Kind = 0, nil
	r := reader{b: data}
	for {
		tag, more := r.field()
		if !more {
			break
		}
		switch {
		case tag == fieldID<<typeBits|typeVarint:
			event.Id = r.varint()
		case tag&(1<<typeBits-1) != typeBytes || event.Kind != nil:
			r.odd = true
		default:
			readKind(slot, tag>>typeBits, &r)
		}
	}
	if r.odd {
		event = &schema.Event{}
		return event, unmarshal(data, event)
	}
	return event, nil
}

// readKind decodes the body of an event of a frequent kind.
func readKind(s *schema.EventSlot, field byte, r *reader) {
	body := reader{b: r.bytes()}
	switch field {
	case 3:
		readGranted(s.Granted.Granted, &body)
		s.Event.Kind = &s.Granted
	case 4:
		readQueued(s.Queued.Queued, &body)
		s.Event.Kind = &s.Queued
	case 6:
		s.Event.Kind = &s.Released
		body.odd = body.odd || len(body.b) > 0 // a problem
	case 9:
		readBeat(&s.Beat.Beat.Ttl, &body)
		s.Event.Kind = &s.Beat
	default:
		body.odd = true
	}
	r.odd = r.odd || body.odd
}

func readGranted(g *schema.Granted, r *reader) {
	g.Token, g.Since, g.Hold, g.Grace = 0, 0, 0, false
	for {
		tag, more := r.field()
		if !more {
			return
		}
		switch tag {
		case 1<<typeBits | typeVarint:
			g.Token = r.varint()
		case 2<<typeBits | typeVarint:
			g.Since = int64(r.varint())
		case 3<<typeBits | typeVarint:
			g.Hold = int64(r.varint())
		case 4<<typeBits | typeVarint:
			g.Grace = r.varint() != 0
		default:
			r.odd = true
		}
	}
}

func readQueued(q *schema.Queued, r *reader) {
	q.Position = 0
	for {
		tag, more := r.field()
		if !more {
			return
		}
		if tag != 1<<typeBits|typeVarint {
			r.odd = true
			return
		}
		q.Position = int32(r.varint())
	}
}
