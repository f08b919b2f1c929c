package frames

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// keepSlots is the number of operations or events whose memory is kept for the next frame.
const keepSlots = 1024

// Operations is a client's frame, as a server receives it.
type Operations struct {
	size  int
	list  []*schema.Operation
	slots *operationSlots
	pool  *slotPool // pool of its slots; nil keeps them
}

// List returns the operations, in order. They are valid until Release or the next frame is read.
func (o *Operations) List() []*schema.Operation { return o.list }

// Size returns the size of the frame in bytes.
func (o *Operations) Size() int { return o.size }

// Release returns the memory to the pool.
func (o *Operations) Release() {
	o.list = nil
	if o.slots != nil && o.pool != nil {
		o.pool.put(o.slots)
		o.slots = nil
	}
}

// Read decodes a frame, and does not keep data. The error is from the general code; the frame must then not be used.
func (o *Operations) Read(data []byte) error {
	if o.slots == nil {
		o.slots = &operationSlots{}
	}
	return o.read(data)
}

func (o *Operations) read(data []byte) error {
	s := o.slots
	s.empty()
	o.size = len(data)
	plain, err := eachItem(data, func(item []byte) error {
		operation, err := s.operation(item)
		if err != nil {
			return fmt.Errorf("operation %d of the frame: %w", len(s.list)+1, err)
		}
		s.list = append(s.list, operation)
		return nil
	})
	switch {
	case !plain:
		frame := &schema.ClientFrame{}
		err = unmarshal(data, frame)
		o.list = frame.GetOperations()
	case err != nil:
		o.list = nil
	default:
		o.list = s.list
	}
	return err
}

// operationSlots is the memory of a frame.
type operationSlots struct {
	list  []*schema.Operation
	slots []*operationSlot
	used  int
	space string // the last space name
}

// operationSlot is the memory of one operation.
type operationSlot struct {
	operation schema.Operation
	acquire   schema.Operation_Acquire
	release   schema.Operation_Release
	cancel    schema.Operation_Cancel
	beat      schema.Operation_Beat

	acquireBody schema.Acquire
	releaseBody schema.Release
	cancelBody  schema.Cancel
	beatBody    schema.Beat
}

func (s *operationSlots) empty() {
	clear(s.list)
	s.list, s.used = s.list[:0], 0
}

// shrink drops memory that few frames need, and texts.
func (s *operationSlots) shrink() {
	if len(s.slots) > keepSlots {
		clear(s.slots[keepSlots:])
		s.slots, s.list = s.slots[:keepSlots:keepSlots], nil
	}
	for _, slot := range s.slots[:min(s.used, len(s.slots))] {
		a := &slot.acquireBody
		a.Space, a.Name, a.Owner, a.Reason, a.Value = "", "", "", "", ""
		slot.releaseBody.Space, slot.releaseBody.Name = "", ""
		slot.cancelBody.Space, slot.cancelBody.Name = "", ""
	}
	s.empty()
	s.space = ""
}

func (s *operationSlots) next() *operationSlot {
	if s.used == len(s.slots) {
		slot := &operationSlot{}
		slot.acquire.Acquire = &slot.acquireBody
		slot.release.Release = &slot.releaseBody
		slot.cancel.Cancel = &slot.cancelBody
		slot.beat.Beat = &slot.beatBody
		s.slots = append(s.slots, slot)
	}
	s.used++
	return s.slots[s.used-1]
}

// operation decodes one operation.
func (s *operationSlots) operation(data []byte) (*schema.Operation, error) {
	slot := s.next()
	o := &slot.operation
	o.Id, o.Kind = 0, nil
	r := reader{b: data}
	for {
		tag, more := r.field()
		if !more {
			break
		}
		switch {
		case tag == fieldID<<typeBits|typeVarint:
			o.Id = r.varint()
		case tag&(1<<typeBits-1) != typeBytes || o.Kind != nil:
			r.odd = true
		default:
			s.kind(slot, tag>>typeBits, &r)
		}
	}
	if r.odd {
		o = &schema.Operation{}
		return o, unmarshal(data, o)
	}
	return o, nil
}

// kind decodes the body of an operation of a frequent kind.
func (s *operationSlots) kind(slot *operationSlot, field byte, r *reader) {
	body, o := reader{b: r.bytes()}, &slot.operation
	switch field {
	case 3:
		s.acquire(&slot.acquireBody, &body)
		o.Kind = &slot.acquire
	case 4:
		s.release(&slot.releaseBody, &body)
		o.Kind = &slot.release
	case 5:
		s.cancel(&slot.cancelBody, &body)
		o.Kind = &slot.cancel
	case 7:
		readBeat(&slot.beatBody.Ttl, &body)
		o.Kind = &slot.beat
	default:
		body.odd = true
	}
	r.odd = r.odd || body.odd
}

func (s *operationSlots) acquire(a *schema.Acquire, r *reader) {
	space := ""
	a.Name, a.Owner, a.Reason, a.Value = "", "", "", ""
	a.Mode, a.Units, a.Capacity, a.Try, a.Wait, a.Hold, a.Require, a.Deadlock = 0, 0, 0, false, 0, 0, 0, 0
	for {
		tag, more := r.field()
		if !more {
			break
		}
		switch tag {
		case 1<<typeBits | typeBytes:
			space = s.readSpace(r)
		case 2<<typeBits | typeBytes:
			a.Name = r.text()
		case 3<<typeBits | typeVarint:
			a.Mode = schema.Mode(r.varint())
		case 4<<typeBits | typeVarint:
			a.Units = int32(r.varint())
		case 5<<typeBits | typeVarint:
			a.Capacity = int32(r.varint())
		case 6<<typeBits | typeVarint:
			a.Try = r.varint() != 0
		case 7<<typeBits | typeVarint:
			a.Wait = int64(r.varint())
		case 8<<typeBits | typeVarint:
			a.Hold = int64(r.varint())
		case 9<<typeBits | typeBytes:
			a.Owner = r.text()
		case 10<<typeBits | typeBytes:
			a.Reason = r.text()
		case 11<<typeBits | typeVarint:
			a.Require = schema.Class(r.varint())
		case 12<<typeBits | typeBytes:
			a.Value = r.text()
		case 13<<typeBits | typeVarint:
			a.Deadlock = schema.Deadlock(r.varint())
		default:
			r.odd = true
		}
	}
	a.Space = space
}

func (s *operationSlots) release(m *schema.Release, r *reader) {
	m.Space, m.Name, m.Token, m.Lazy = "", "", 0, false
	for {
		tag, more := r.field()
		if !more {
			break
		}
		switch tag {
		case 1<<typeBits | typeBytes:
			m.Space = s.readSpace(r)
		case 2<<typeBits | typeBytes:
			m.Name = r.text()
		case 3<<typeBits | typeVarint:
			m.Token = r.varint()
		case 4<<typeBits | typeVarint:
			m.Lazy = r.varint() != 0
		default:
			r.odd = true
		}
	}
}

func (s *operationSlots) cancel(m *schema.Cancel, r *reader) {
	m.Space, m.Name = "", ""
	for {
		tag, more := r.field()
		if !more {
			break
		}
		switch tag {
		case 1<<typeBits | typeBytes:
			m.Space = s.readSpace(r)
		case 2<<typeBits | typeBytes:
			m.Name = r.text()
		default:
			r.odd = true
		}
	}
}

// readSpace reads the name of a space: usually the same as in the previous operation.
func (s *operationSlots) readSpace(r *reader) string {
	s.space = r.textLike(s.space)
	return s.space
}

// readBeat reads the only field of a beat or of its answer.
func readBeat(ttl *int64, r *reader) {
	*ttl = 0
	for {
		tag, more := r.field()
		if !more {
			break
		}
		if tag != 1<<typeBits|typeVarint {
			r.odd = true
			return
		}
		*ttl = int64(r.varint())
	}
}

// slotPool keeps the memory of frames between them.
type slotPool struct{ pool sync.Pool }

func newSlotPool() *slotPool {
	return &slotPool{sync.Pool{New: func() any { return &operationSlots{} }}}
}

func (p *slotPool) get() *operationSlots { return p.pool.Get().(*operationSlots) }

func (p *slotPool) put(s *operationSlots) {
	s.shrink()
	p.pool.Put(s)
}

func unmarshal(data []byte, m proto.Message) error { return proto.Unmarshal(data, m) }
