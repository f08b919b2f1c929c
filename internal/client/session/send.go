package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// item is one thing to send. What has become moot meanwhile is skipped.
type item struct {
	kind    OperationKind
	request *Request
}

// push queues an item, if there is a stream: what is to be sent on the next one is
// read off the states.
func (m *Machine) push(kind OperationKind, r *Request) {
	if m.connected {
		m.queue = append(m.queue, item{kind, r})
		m.out.Send = true
	}
}

// refill queues all that is not settled, in the order of the ids, for a new stream.
func (m *Machine) refill() {
	m.queue, m.head = nil, 0
	if m.closing {
		m.push(SendEnd, nil)
		return
	}
	for _, r := range m.all() {
		r.behind = false
		switch {
		case r.state == Requested:
			m.push(SendAcquire, r)
		case r.state == Releasing:
			m.push(SendRelease, r)
		case r.state == Cancelling:
			m.push(SendCancel, r)
		case r.extend != nil:
			m.push(SendExtend, r)
		}
	}
}

// Next takes the next operation to send, at the time now, at which it is sent. It reports false if there is none.
func (m *Machine) Next(now time.Duration) (op Operation, ok bool) {
	for !ok && m.head < len(m.queue) {
		next := m.queue[m.head]
		m.queue[m.head] = item{}
		m.head++
		op, ok = m.operation(next, now)
	}
	m.compact()
	return op, ok
}

// operation is what an item sends at the time now, unless it is moot.
func (m *Machine) operation(next item, now time.Duration) (op Operation, sent bool) {
	r := next.request
	op = Operation{Kind: next.kind, Request: r}
	switch {
	case next.kind == SendBeat:
		m.lastID++
		op.ID = m.lastID
		m.beats[op.ID] = now
		return op, true
	case next.kind == SendEnd:
		m.lastID++
		op.ID, m.endID = m.lastID, m.lastID
		return op, true
	case next.kind == SendAcquire && r.state == Requested:
		op.Wait = m.acquired(r, now)
	case next.kind == SendCancel && r.state == Cancelling:
	case next.kind == SendRelease && r.state == Releasing:
		r.copies++
	case next.kind == SendExtend && r.state == Held && r.extend != nil:
		op.Hold = m.extended(r, now)
	default:
		return op, false
	}
	op.ID, op.Token = r.ID, r.token
	return op, true
}

// acquired notes that an acquire is sent. Its hold limit counts from the first sending,
// which is never too late; what remains of its wait limit, from this one.
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

// extended notes that an extend is sent.
func (m *Machine) extended(r *Request, now time.Duration) (hold time.Duration) {
	if r.extend.unsent {
		r.extend.unsent, r.extend.sent = false, now
	}
	if r.behind, r.limit = true, (limit{}); r.extend.hold > 0 {
		r.limit = limit{r.token, r.extend.hold}
	}
	return r.extend.hold
}

// compact takes what was sent out of the queue's memory once that is most of it: a
// queue that is never empty must not grow by what has left it.
func (m *Machine) compact() {
	if m.head > len(m.queue)/2 {
		rest := copy(m.queue, m.queue[m.head:])
		clear(m.queue[rest:])
		m.queue, m.head = m.queue[:rest], 0
	}
}
