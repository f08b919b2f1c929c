package server

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// saying is the kind of an event that a client is told.
type saying uint8

const (
	sayWelcome saying = iota + 1
	sayGranted
	sayQueued
	sayRefused
	sayReleased
	sayLost
	sayExtended
	sayBeat
	sayMoved
)

// outgoing is one event on its way to the client, in little memory: it becomes a
// message only when it is sent.
type outgoing struct {
	saying      saying
	call        call // what it answers, where it answers something
	mustRelease bool
	port        protocol.Port
	position    int32
	id          uint64
	token       holdfast.Token
	since       lock.Time
	span        time.Duration // hold limit or TTL
	cut         string        // why that TTL is shorter than was wanted
	generation  uint64        // of a welcome
	why         holdfast.Loss
	text        string // of a refusal: the lock's name
	err         error
	roster      *roster      // of a welcome, and when it has changed
	opened      *credentials // of a welcome; its secret is told if the session is new
	fresh       bool
}

// size estimates how much memory t keeps.
func (t *outgoing) size() int {
	n := 144 + len(t.text)
	if t.err != nil {
		n += 512
	}
	return n
}

// outbox gathers what a client shall be told until the writer takes it, all at
// once. Its bound counts what the writer is just sending, too. Past the bound it
// is broken, drops what it has and takes nothing more.
type outbox struct {
	wake chan struct{} // has a value when there may be something to take
	held atomic.Bool   // a goroutine is about to look into the box anyway

	mu            sync.Mutex
	queue         []outgoing
	broken        bool
	closed        bool // the stream is over
	events, bytes int
	maxEvents     int
	maxBytes      int
	all           *outboxes
}

// outboxes bounds what all streams of a server keep together. Where that is more than
// most bytes, a stream may keep no more than its share: so many streams that do not read
// cannot take together what each of them may take alone.
type outboxes struct {
	bytes atomic.Int64
	most  int64
	share int
}

func newOutbox(events, bytes int, all *outboxes) outbox {
	return outbox{wake: make(chan struct{}, 1), maxEvents: events, maxBytes: bytes, all: all}
}

// put adds t and reports whether the box is whole. It is called with mu held.
func (o *outbox) put(t outgoing) bool {
	if o.broken {
		return false
	}
	together := o.grow(&t)
	if o.events > o.maxEvents || o.bytes > o.maxBytes || together > o.all.most && o.bytes > o.all.share {
		o.broken, o.queue = true, nil
		return false
	}
	o.queue = append(o.queue, t)
	return true
}

// grow counts t, and returns how many bytes all streams keep.
func (o *outbox) grow(t *outgoing) (together int64) {
	size := t.size()
	o.events++
	o.bytes += size
	return o.all.bytes.Add(int64(size))
}

// first puts t before everything else.
func (o *outbox) first(t outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append([]outgoing{t}, o.queue...)
	o.grow(&t)
}

// close lets go of everything: nothing is sent any more.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.bytes.Add(-int64(o.bytes))
	o.queue, o.events, o.bytes, o.broken, o.closed = nil, 0, 0, true, true
}

// hold lets signal do nothing until letGo: the caller looks into the box after that, and so
// nothing that is put there meanwhile needs a signal.
func (o *outbox) hold() { o.held.Store(true) }

func (o *outbox) letGo() { o.held.Store(false) }

// signal wakes the writer.
func (o *outbox) signal() {
	if o.held.Load() {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default: // it is awake
	}
}

// waiting returns how many events the writer has not taken yet.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue)
}

// keepBatch is how many events of memory an idle stream may keep.
const keepBatch = 64

// take returns all that has gathered, and keeps the memory of the batch before.
func (o *outbox) take(before []outgoing) []outgoing {
	clear(before)
	if cap(before) > keepBatch {
		before = nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.queue
	o.queue = before[:0]
	return batch
}

// sent says that a batch is on its way and keeps no memory here any more.
func (o *outbox) sent(batch []outgoing) {
	bytes := 0
	for i := range batch {
		bytes += batch[i].size()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return // everything was let go of
	}
	o.events -= len(batch)
	o.bytes -= bytes
	o.all.bytes.Add(-int64(bytes))
}

// Deliver implements run.Sink: it copies what is told into the outbox and wakes the
// writer once.
func (s *stream) Deliver(replies []protocol.Reply) {
	if s.over.Load() {
		return
	}
	whole := true
	s.box.mu.Lock()
	for i := range replies {
		whole = s.hear(&replies[i]) && whole
	}
	s.box.mu.Unlock()
	if !whole {
		s.server.service.observer.refused(unreadAnswers)
		s.end(s.errSlow())
		return
	}
	s.box.signal()
}

// hear turns one reply into an event, and reports whether the outbox is whole. It
// is called with the outbox's mutex held.
func (s *stream) hear(reply *protocol.Reply) bool {
	id := reply.To.Op &^ callBit // of an operation on the session
	switch result := reply.Result.(type) {
	case nil:
		return s.hearDecision(reply)
	case *session.Opened:
		s.answerOpening(result)
	case *session.Renewed:
		if reply.To.Op == helloOp {
			s.answerOpening(result)
			return true
		}
		return s.hearBeat(id, result)
	case *session.Ended:
		// What the session held was told by its decisions, before.
		s.finish(nil)
		return s.box.put(outgoing{saying: sayReleased, call: callEnd, id: id, err: result.Err})
	case *session.Expired:
		s.finish(errExpired(result.Err))
	case *session.Dismissed:
		s.finish(api.ToStatus(result.Err)) // unavailable: the client goes on elsewhere with its session
	case *session.Superseded:
		s.end(errSuperseded())
	case *session.TakenOver:
		s.finish(api.ToStatus(errTakenOver(result.ID)))
	}
	return true
}

func (s *stream) answerOpening(result any) {
	select {
	case s.opening <- result:
	default: // it was answered before
	}
}

// hearBeat tells that the session was renewed, or that it has ended. Where it could not
// be renewed now nothing is told: to the client that is a beat without an answer, and
// its deadline stays where it is.
func (s *stream) hearBeat(id uint64, renewed *session.Renewed) bool {
	whole := true
	for _, lost := range renewed.Lost {
		whole = s.box.put(lostGrant(lost.Port, &lost.Decision)) && whole
	}
	if errors.Is(renewed.Err, holdfast.ErrUnavailable) {
		return whole
	}
	if renewed.Err != nil {
		if errors.Is(renewed.Err, session.ErrTakenOver) {
			s.finish(api.ToStatus(errTakenOver(s.session)))
			return whole
		}
		s.finish(errExpired(nil))
		return s.box.put(outgoing{saying: sayRefused, call: callBeat, id: id, err: renewed.Err}) && whole
	}
	cut := s.server.service.whyCut(renewed.Cut, time.Duration(s.wanted.Load()), renewed.TTL)
	return s.box.put(outgoing{saying: sayBeat, call: callBeat, id: id, span: renewed.TTL, cut: cut}) && whole
}

// hearDecision tells what became of a request: as the answer to a call about it, or
// by itself.
func (s *stream) hearDecision(reply *protocol.Reply) bool {
	d, op := &reply.Decision, reply.To.Op
	call := callRequest
	switch {
	case op&callBit == 0:
	case d.Request == op:
		return true // a number that no stream gives: a request of another edge
	default:
		call = callOf(op)
	}
	t := outgoing{id: d.Request, port: reply.Port, call: call}
	switch d.Kind {
	case lock.Granted:
		t.saying, t.token, t.since, t.span = sayGranted, d.Token, d.Since, d.Hold
		if call == callExtend {
			t.saying = sayExtended
		}
	case lock.Queued:
		if d.Position < 0 {
			return true // another member decides, and has not been heard yet
		}
		t.saying, t.position = sayQueued, int32(d.Position)
	case lock.Refused:
		t.saying, t.err, t.text = sayRefused, d.Err, d.Name
		if call.endsHold() {
			t.saying = sayReleased
		}
	case lock.Lost, lock.Revoked:
		t = lostGrant(reply.Port, d)
	case lock.Released:
		t.saying = sayReleased
	default:
		return true
	}
	return s.box.put(t)
}

func lostGrant(port protocol.Port, d *lock.Decision) outgoing {
	return outgoing{saying: sayLost, id: d.Request, port: port, why: d.Loss, mustRelease: d.Kind == lock.Revoked}
}

// call is what a client has asked for by an operation.
type call uint8

const (
	callRequest call = iota // what becomes of a request
	callHello
	callRelease
	callCancel
	callExtend
	callBeat
	callEnd
	callUnknown
)

// String returns the word for it in metrics.
func (c call) String() string {
	return [...]string{"acquire", "open", "release", "cancel", "extend", "renew", "end", "unknown"}[c]
}

// endsHold says whether the answer is a released, with a problem where it is refused.
func (c call) endsHold() bool { return c == callRelease || c == callCancel || c == callEnd }

// The number of a call, protocol.CallID.Op, tells what its answer is about, so that
// nothing has to be remembered for an answer that may never come:
//
//   - An acquire has the id of its request, and so has every later word about it.
//   - A release, cancel or extend has the top bit, its kind, and a count. The answer
//     is a decision, which names the request.
//   - A beat or end has the top bit and its own id. Its answer is no decision.
const (
	callBit   = 1 << 63
	kindShift = 60
	countMask = 1<<kindShift - 1
	// maxID is the largest id of an operation: the next one's number is the hello's.
	maxID   = callBit - 2
	helloOp = uint64(callBit | (maxID + 1))
)

// numberOf returns the number of a release, cancel or extend, the count-th of them.
func numberOf(kind call, count uint64) uint64 {
	return callBit | uint64(kind)<<kindShift | count&countMask
}

// callOf returns the kind of a release, cancel or extend by its number.
func callOf(number uint64) call { return call(number >> kindShift & 7) }
