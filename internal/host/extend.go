package host

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// ExtendLock requests a new hold limit. It belongs to the grant, so it applies to every lock that an owner has under
// it.
func (s *localSession) ExtendLock(ctx context.Context, l *holdfast.Lock, hold time.Duration) error {
	leave, err := s.extending.take(ctx, l)
	if err != nil {
		return err
	}
	sent := s.Now()
	end := holdfast.Forever
	if hold > 0 {
		end = after(sent, hold)
	}
	// An earlier end counts here before the authority knows it, a later one only after it has agreed: a holder here
	// never believes longer than the authority waits.
	port, ok := s.shorten(l, end)
	if !ok {
		leave()
		if err := l.Check(); err != nil {
			return err
		}
		return notChanged(opExtend, l, holdfast.ErrClosed)
	}
	extend := &protocol.Extend{Session: s.id, Name: l.Name(), Token: l.Token(), Request: l.Request(), Hold: hold}
	line := make(chan lock.Decision, 1)
	if err := s.send(port, extend, line); err != nil {
		leave()
		return notChanged(opExtend, l, err)
	}
	return s.outcome(ctx, line, func(d *lock.Decision) error {
		defer leave()
		return s.extended(l, port, end, d)
	})
}

// outcome returns the result of a call about a lock, whose answer comes on line. If ctx ends first, the answer takes
// effect here all the same.
func (s *localSession) outcome(ctx context.Context, line <-chan lock.Decision, finish func(*lock.Decision) error) error {
	done := make(chan error, 1)
	select {
	case d := <-line:
		done <- finish(&d)
	default:
		go func() {
			d := s.hear(line)
			done <- finish(&d)
		}()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a request about a lock to its space; its answer comes on line.
func (s *localSession) send(port protocol.Port, fact any, line chan lock.Decision) error {
	op := s.number()
	s.mu.Lock()
	s.answers[op] = line
	s.mu.Unlock()
	call := protocol.CallID{Sink: s.sink, Op: op}
	reply, answered, err := s.driver.Call(protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: fact})
	if err == nil && !answered {
		return nil
	}
	s.mu.Lock()
	delete(s.answers, op)
	s.mu.Unlock()
	if answered {
		line <- reply.Decision
	}
	return err
}

// hear waits for an answer as long as the session lives.
func (s *localSession) hear(line <-chan lock.Decision) lock.Decision {
	select {
	case d := <-line:
		return d
	case <-s.over:
		return lock.Decision{Kind: lock.Refused, Err: holdfast.ErrClosed}
	}
}

// extended handles the answer: l may live until end, or not.
func (s *localSession) extended(l *holdfast.Lock, port protocol.Port, end time.Duration, d *lock.Decision) error {
	if d.Kind == lock.Refused {
		if err := l.Check(); err != nil {
			return err // it has ended meanwhile, and knows why
		}
		return notChanged(opExtend, l, s.refusal(d.Err))
	}
	for _, h := range s.lengthen(l, port, end) {
		// Its former limit ended it before the new one came. Otherwise the authority would keep the name until the new
		// limit.
		if err := s.release(h); err != nil && !errors.Is(err, holdfast.ErrNotHeld) && !errors.Is(err, holdfast.ErrClosed) {
			return notChanged(opExtend, l, err)
		}
	}
	return l.Check()
}

// notChanged returns the error of a call that has not changed a lock.
func notChanged(op string, l *holdfast.Lock, err error) error {
	return &holdfast.Error{Op: op, Space: l.Space(), Name: l.Name(), Err: closedOr(err)}
}

// shorten makes the locks of l's grant end at end, if that is earlier than before. It returns the port of their space,
// or false if l is not held.
func (s *localSession) shorten(l *holdfast.Lock, end time.Duration) (protocol.Port, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.held.get(l.Request())
	if !ok {
		return 0, false
	}
	for _, id := range s.grantOf(l, h.port) {
		if mate, _ := s.held.get(id); end < mate.lock.Deadline() {
			s.endAt(id, mate, end)
		}
	}
	return h.port, true
}

// lengthen makes the locks of l's grant end at end. It returns those that have already ended, and forgets them.
func (s *localSession) lengthen(l *holdfast.Lock, port protocol.Port, end time.Duration) (over []holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.grantOf(l, port) {
		mate, _ := s.held.get(id)
		mate = s.endAt(id, mate, end)
		if mate.lock.Check() == nil {
			continue
		}
		s.held.remove(id)
		if mate.alarm != nil {
			s.alarms.Stop(mate.alarm)
		}
		over = append(over, mate)
	}
	return over
}

// grantOf returns the requests by which l's grant is held: more than one if a named owner has re-entered it. It is
// called with the mutex held.
func (s *localSession) grantOf(l *holdfast.Lock, port protocol.Port) (requests []uint64) {
	if l.Owner() == "" {
		if _, ok := s.held.get(l.Request()); ok {
			requests = append(requests, l.Request())
		}
		return requests
	}
	for id, h := range s.held.all() {
		if h.port == port && h.lock.Token() == l.Token() && h.lock.Name() == l.Name() {
			requests = append(requests, id)
		}
	}
	return requests
}

// endAt moves the end of a hold limit. It is called with the mutex held.
func (s *localSession) endAt(id uint64, h holding, end time.Duration) holding {
	h.lock.SetHoldEnd(end)
	s.limit(&h, end)
	s.held.put(id, h)
	return h
}
