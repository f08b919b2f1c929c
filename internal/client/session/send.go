package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// sending is the kind of an item to send.
type sending uint8

const (
	sendAcquire sending = iota
	sendRelease
	sendCancel
	sendExtend
	sendAmend
	sendBeat
	sendEnd
)

// item is one thing to send. Moot items are skipped.
type item struct {
	kind    sending
	request *Request
}

// push queues an item, if there is a stream: for the next stream the items follow from the states.
func (m *Machine) push(kind sending, r *Request) {
	if m.stream != nil {
		m.queue = append(m.queue, item{kind, r})
		m.out.Send = true
	}
}

// refill queues everything unsettled, in the order of the ids, for a new stream.
func (m *Machine) refill() {
	m.queue, m.head = nil, 0
	if m.closing {
		m.push(sendEnd, nil)
		return
	}
	for _, r := range m.all() {
		r.behind = false
		switch {
		case r.state == Requested:
			m.push(sendAcquire, r)
		case r.state == Releasing:
			m.push(sendRelease, r)
		case r.state == Cancelling:
			m.push(sendCancel, r)
		case r.extend != nil:
			m.push(sendExtend, r)
		}
		if r.state == Held && r.amend != nil {
			r.amend.unsent = true
			m.push(sendAmend, r)
		}
	}
}

// Fill empties a frame and fills it with the next items, up to its bound, for sending at now. It reports false if there
// is nothing to send.
func (m *Machine) Fill(now time.Duration, frame *Frame) bool {
	frame.empty()
	for m.head < len(m.queue) && frame.hasRoom() {
		next := m.queue[m.head]
		m.queue[m.head] = item{}
		m.head++
		m.put(frame, next, now)
	}
	m.compact()
	return frame.used > 0
}

// put adds an item to a frame, for sending at now, unless it is moot.
func (m *Machine) put(f *Frame, next item, now time.Duration) {
	r := next.request
	switch {
	case next.kind == sendBeat:
		m.lastID++
		m.beats[m.lastID] = now
		f.beat(m.lastID, m.config.TTL)
	case next.kind == sendEnd:
		m.lastID++
		m.endID = m.lastID
		f.add(m.endID, nil).Kind = &schema.Operation_End{End: &schema.End{}}
	case next.kind == sendAcquire && r.state == Requested:
		f.acquire(r, m.acquired(r, now))
	case next.kind == sendCancel && r.state == Cancelling:
		f.add(r.ID, r).Kind = &schema.Operation_Cancel{Cancel: &schema.Cancel{Space: r.Space, Name: r.Want.Name}}
	case next.kind == sendRelease && r.state == Releasing:
		r.copies++
		f.release(r)
	case next.kind == sendAmend && r.state == Held && r.amend != nil && r.amend.unsent:
		f.bytes += len(r.amend.value)
		f.add(r.ID, r).Kind = &schema.Operation_Amend{Amend: m.amended(r)}
	case next.kind == sendExtend && r.state == Held && r.extend != nil:
		f.add(r.ID, r).Kind = &schema.Operation_Extend{Extend: &schema.Extend{
			Space: r.Space, Name: r.Want.Name, Token: uint64(r.token), Hold: int64(m.extended(r, now)),
		}}
	}
}

// acquired records the sending of an acquire. Its hold limit counts from the first sending, which is never too late;
// the rest of its wait limit, from this one.
func (m *Machine) acquired(r *Request, now time.Duration) (wait time.Duration) {
	if r.unsent {
		r.unsent, r.sent = false, now
		m.unsent--
	}
	if r.WaitEnd != clock.Never {
		wait = max(1, r.WaitEnd-now)
	}
	return wait
}

// extended records the sending of an extend.
func (m *Machine) extended(r *Request, now time.Duration) (hold time.Duration) {
	if r.extend.unsent {
		r.extend.unsent, r.extend.sent = false, now
	}
	if r.behind, r.limit = true, (limit{}); r.extend.hold > 0 {
		r.limit = limit{r.token, r.extend.hold}
	}
	return r.extend.hold
}

// compact removes sent items from the queue's memory once they are most of it: a queue that is never empty must not
// grow.
func (m *Machine) compact() {
	if m.head > len(m.queue)/2 {
		rest := copy(m.queue, m.queue[m.head:])
		clear(m.queue[rest:])
		m.queue, m.head = m.queue[:rest], 0
	}
}
