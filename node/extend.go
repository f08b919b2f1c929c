package node

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// ExtendLock asks for another hold limit. It is the grant's, so it holds for every
// lock that an owner has under it.
func (s *localSession) ExtendLock(_ context.Context, l *holdfast.Lock, hold time.Duration) error {
	s.extending.Lock()
	defer s.extending.Unlock()
	sent := s.Now()
	end := holdfast.Forever
	if hold > 0 {
		end = after(sent, hold)
	}
	// An earlier end counts here before the authority knows it, a later one only after
	// it has agreed: at no time does anybody here believe longer than it waits.
	port, ok := s.shorten(l, end)
	if !ok {
		if err := l.Check(); err != nil {
			return err
		}
		return &holdfast.Error{Op: "extend", Space: l.Space(), Name: l.Name(), Err: holdfast.ErrClosed}
	}
	extend := &protocol.Extend{Session: s.id, Name: l.Name(), Token: l.Token(), Request: l.Request(), Hold: hold}
	call := protocol.CallID{Sink: s.sink, Op: s.last.Add(1)}
	reply, _, err := s.driver.Call(protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: extend})
	if err == nil && reply.Decision.Kind == lock.Refused {
		err = s.refusal(reply.Decision.Err)
	}
	if err != nil {
		return &holdfast.Error{Op: "extend", Space: l.Space(), Name: l.Name(), Err: closedOr(err)}
	}
	for _, h := range s.lengthen(l, port, end) {
		// Its former limit ended it before the new one came. The authority would keep the
		// name for it until then.
		if err := s.release(h); err != nil && !errors.Is(err, holdfast.ErrNotHeld) && !errors.Is(err, holdfast.ErrClosed) {
			return &holdfast.Error{Op: "extend", Space: l.Space(), Name: l.Name(), Err: err}
		}
	}
	return l.Check()
}

// shorten lets the locks of l's grant end at end, where that is earlier than before.
// It returns the port of their space, or false where l is not held.
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

// lengthen lets the locks of l's grant end at end. It returns those that have ended
// already, and forgets them.
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

// grantOf returns the requests by which l's grant is held: more than one where a named
// owner has entered it again. It is called with the mutex held.
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
