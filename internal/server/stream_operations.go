package server

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

const (
	// maxOperations is how many operations of a frame are performed; those behind are
	// refused.
	maxOperations = 65_536
	// maxStep is how many operations are stepped in one go. Longer frames are cut, so
	// that no frame keeps the member from serving others for long.
	maxStep = 4_096
)

// scratch is the memory in which the operations of a frame become the events of a
// step. It belongs to the server, and a stream has it only while it steps: quiet
// sessions cost none. Nothing keeps a pointer into it beyond the step.
type scratch struct {
	events   []protocol.Event
	requests []lock.Request
	releases []protocol.Release
	cancels  []protocol.Cancel
}

// grow makes room for n of each, so that no pointer moves while they are filled.
func (c *scratch) grow(n int) {
	c.events = slices.Grow(c.events, n)
	c.requests = slices.Grow(c.requests, n)
	c.releases = slices.Grow(c.releases, n)
	c.cancels = slices.Grow(c.cancels, n)
}

// empty forgets what was in it and keeps the memory.
func (c *scratch) empty() {
	c.events = emptied(c.events)
	c.requests = emptied(c.requests)
	c.releases = emptied(c.releases)
	c.cancels = emptied(c.cancels)
}

func emptied[T any](used []T) []T {
	clear(used)
	return used[:0]
}

// perform does what a frame asks for, in its order, and reports whether the stream
// goes on. What cannot be done is refused and disturbs nothing else.
func (s *stream) perform(operations []*schema.Operation, arrived protocol.Time) bool {
	s.admit(operations, arrived)
	for index := 0; len(operations) > 0; {
		n := min(len(operations), maxStep)
		s.scratch = s.server.scratches.Get().(*scratch)
		s.grow(n)
		goesOn := s.understand(operations[:n], index, arrived)
		s.box.hold()
		s.server.service.driver.Step(s.events...)
		s.box.letGo()
		s.answer() // and for what was refused here
		s.scratch.empty()
		s.server.scratches.Put(s.scratch)
		s.scratch = nil
		if !goesOn || s.over.Load() {
			return false
		}
		operations, index = operations[n:], index+n
	}
	return true
}

// understand turns operations into events, and reports whether the stream goes on
// after them. A mistake of its own must not end the member: it is refused as one
// and ends the stream.
func (s *stream) understand(operations []*schema.Operation, index int, arrived protocol.Time) (goesOn bool) {
	defer func() {
		if mistake := recover(); mistake != nil {
			s.server.panicked("holdfast.v1.Sessions/Open", mistake, debug.Stack())
			s.end(errInternal())
			goesOn = false
		}
	}()
	for i, operation := range operations {
		if index+i >= maxOperations {
			s.refuse(callUnknown, operation.GetId(), "", "", &holdfast.LimitError{Limit: "operations_per_frame", Value: maxOperations})
			continue
		}
		if s.owner != nil && !s.admitted(operation) {
			continue
		}
		if end := s.operation(operation, arrived); end {
			return false
		}
	}
	return true
}

// operation turns one operation into an event, or refuses it. It reports whether it
// ends the session.
func (s *stream) operation(op *schema.Operation, arrived protocol.Time) (end bool) {
	id := op.GetId()
	switch kind := op.GetKind().(type) {
	case *schema.Operation_Acquire:
		s.acquire(id, kind.Acquire, arrived)
	case *schema.Operation_Release:
		r := kind.Release
		if space := s.locate(callRelease, id, r.GetSpace(), r.GetName()); space != nil {
			s.releases = append(s.releases, protocol.Release{
				Session: s.session, Name: r.GetName(), Token: holdfast.Token(r.GetToken()), Request: id, Awaited: !r.GetLazy(),
			})
			s.event(space.Port, s.number(callRelease), &s.releases[len(s.releases)-1])
		}
	case *schema.Operation_Cancel:
		c := kind.Cancel
		if space := s.locate(callCancel, id, c.GetSpace(), c.GetName()); space != nil {
			s.cancels = append(s.cancels, protocol.Cancel{Session: s.session, Name: c.GetName(), Request: id})
			s.event(space.Port, s.number(callCancel), &s.cancels[len(s.cancels)-1])
		}
	case *schema.Operation_Extend:
		s.extend(id, kind.Extend)
	case *schema.Operation_Beat:
		s.beat(id, kind.Beat, arrived)
	case *schema.Operation_End:
		if id > maxID {
			s.refuse(callEnd, id, "", "", badID(id))
			return false
		}
		s.event(protocol.Below, callBit|id, &session.End{ID: s.session, Proven: true})
		return true
	case *schema.Operation_Hello:
		s.refuse(callUnknown, id, "", "", api.Fail(api.CodeBadRequest, "hello: a stream has one, and it is the first operation"))
	default:
		s.refuse(callUnknown, id, "", "", api.Fail(api.CodeBadRequest, "an operation without a kind that this server knows"))
	}
	return false
}

// number returns the number of the next call about a request.
func (s *stream) number(kind call) uint64 {
	s.calls++
	return numberOf(kind, s.calls)
}

// event adds an event to the step of the frame.
func (s *stream) event(port protocol.Port, number uint64, fact any) {
	s.events = append(s.events, protocol.Event{
		Kind: protocol.Call, Port: port, Fact: fact, Call: protocol.CallID{Sink: s.sink, Op: number},
	})
}

// locate checks the id, space and name of an operation. It returns nil where it has
// refused the operation.
func (s *stream) locate(kind call, id uint64, spaceName, name string) *Space {
	space, err := s.server.service.space(spaceName)
	switch {
	case id == 0 || id > maxID:
		err = badID(id)
	case err == nil:
		err = s.server.service.checkName(name)
	}
	if err != nil {
		s.refuse(kind, id, spaceName, name, err)
		return nil
	}
	return space
}

func badID(id uint64) error {
	return api.Fail(api.CodeBadRequest, fmt.Sprintf("operation id %d: want 1 to %d", id, uint64(maxID)))
}

// acquire asks for a lock. Its wait limit counts from arrived.
func (s *stream) acquire(id uint64, a *schema.Acquire, arrived protocol.Time) {
	space := s.locate(callRequest, id, a.GetSpace(), a.GetName())
	if space == nil {
		return
	}
	attributes, err := checkAcquire(a, space)
	if err == nil && id > s.before {
		err = s.server.service.overload()
	}
	if err != nil {
		s.refuse(callRequest, id, space.Name, a.GetName(), err)
		return
	}
	s.requests = append(s.requests, lock.Request{
		Session:    s.session,
		ID:         id,
		Name:       a.GetName(),
		Attributes: attributes,
		Client:     s.client,
		Try:        a.GetTry(),
		Arrived:    arrived,
		WaitEnd:    waitEnd(arrived, a),
	})
	s.event(space.Port, id, &s.requests[len(s.requests)-1])
}

// checkAcquire returns what an acquire says of the lock, or what is wrong with it.
func checkAcquire(a *schema.Acquire, space *Space) (holdfast.Attributes, error) {
	attributes, err := api.FromAttributes(a, time.Duration(a.GetHold()))
	if err != nil {
		return attributes, err
	}
	class, err := api.FromClass(a.GetRequire())
	if err != nil {
		return attributes, err
	}
	r := holdfast.Request{Name: a.GetName(), Attributes: attributes, Wait: time.Duration(a.GetWait())}
	if err := r.Check(); err != nil {
		return attributes, badRequest(err)
	}
	if class > space.Class {
		return attributes, fmt.Errorf("%w: %v is required, and the space offers %v", holdfast.ErrClass, class, space.Class)
	}
	return attributes, nil
}

// tryWait is how long a try waits for an authority, where it does not say.
const tryWait = 5 * time.Second

// waitEnd returns when the wait of an acquire that arrived at arrived ends. Without
// a limit that is never, for who waits for holders.
func waitEnd(arrived protocol.Time, a *schema.Acquire) protocol.Time {
	switch wait := time.Duration(a.GetWait()); {
	case wait > 0:
		return after(arrived, wait)
	case a.GetTry():
		return after(arrived, tryWait)
	default:
		return protocol.Never
	}
}

func (s *stream) extend(id uint64, e *schema.Extend) {
	space := s.locate(callExtend, id, e.GetSpace(), e.GetName())
	if space == nil {
		return
	}
	if e.GetHold() < 0 {
		err := api.Fail(api.CodeBadRequest, fmt.Sprintf("hold %v: want 0 (no limit) or more", time.Duration(e.GetHold())))
		s.refuse(callExtend, id, space.Name, e.GetName(), err)
		return
	}
	s.event(space.Port, s.number(callExtend), &protocol.Extend{
		Session: s.session, Name: e.GetName(), Token: holdfast.Token(e.GetToken()), Request: id, Hold: time.Duration(e.GetHold()),
	})
}

func (s *stream) beat(id uint64, b *schema.Beat, arrived protocol.Time) {
	ttl := time.Duration(b.GetTtl())
	err := s.server.service.checkTTL(ttl)
	if id > maxID {
		err = badID(id)
	}
	if err != nil {
		s.refuse(callBeat, id, "", "", err)
		return
	}
	if ttl > 0 {
		s.wanted.Store(int64(ttl))
	}
	s.event(protocol.Below, callBit|id, &session.Renew{ID: s.session, Proven: true, TTL: time.Duration(s.wanted.Load()), Arrived: arrived})
}

// refuse refuses one operation and counts it. A release or cancel is answered by
// the event that answers those, so that no client takes it for a word about the
// request itself.
func (s *stream) refuse(kind call, id uint64, space, name string, err error) {
	s.countRefusal(err)
	as := sayRefused
	if kind.endsHold() {
		as = sayReleased
	}
	s.say(outgoing{saying: as, call: kind, id: id, err: &holdfast.Error{Space: clip(space), Name: clip(name), Err: err}})
}

// countRefusal counts a refusal by its code. That of a limit is counted by its name, when
// it is told.
func (s *stream) countRefusal(err error) {
	if code := api.Code(err); code != api.CodeLimit {
		s.server.service.observer.refused(code)
	}
}

// clip bounds what is repeated of a name that was not checked.
func clip(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), holdfast.MaxName)], "")
}

// say puts t into the outbox without waking the writer.
func (s *stream) say(t outgoing) {
	s.box.mu.Lock()
	whole := s.box.put(t)
	s.box.mu.Unlock()
	if !whole {
		s.server.service.observer.refused(unreadAnswers)
		s.end(s.errSlow())
	}
}
