package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/run"
	"github.com/holdfast-locks/holdfast/session"
)

// localSession is this process as a client of its own member. It is the sink of the
// driver's answers, and what stands behind its locks.
type localSession struct {
	driver *run.Driver
	id     lock.SessionID
	sink   uint64
	last   atomic.Uint64 // request ids
	spare  atomic.Pointer[facts]
	alarms *clock.Alarms
	begin  time.Duration // where on the alarms' clock the member's time began

	extending     sync.Mutex     // extensions act here in the order in which they act there
	acknowledging sync.WaitGroup // ends that the authority has yet to be told of
	closing       sync.Once

	mu      sync.Mutex
	closed  bool
	waiting map[uint64]*wait // by request
	held    holdings
	early   map[uint64]lock.Decision // decided before its caller could say that it waits
	earlier atomic.Bool              // something was early once: only then is there anything to forget
}

// facts are what a call hands to the machines, which keep none of it beyond their
// step.
type facts struct {
	request lock.Request
	release protocol.Release
}

// borrow returns facts to fill in: the session's own, if nobody has them just now.
func (s *localSession) borrow() *facts {
	if f := s.spare.Swap(nil); f != nil {
		return f
	}
	return new(facts)
}

func (s *localSession) putAway(f *facts) { s.spare.Store(f) }

// wait is a call that waits for its grant.
type wait struct {
	decided chan lock.Decision // buffered: exactly one final decision comes
}

var _ holdfast.Backing = (*localSession)(nil)

// openLocal opens the process's session.
func openLocal(ctx context.Context, driver *run.Driver) (*localSession, error) {
	c, begin := driver.Clock()
	s := &localSession{
		driver:  driver,
		alarms:  clock.NewAlarms(c),
		begin:   begin,
		waiting: map[uint64]*wait{},
		early:   map[uint64]lock.Decision{},
	}
	s.sink = driver.Attach(s)
	call := protocol.CallID{Sink: s.sink, Op: s.last.Add(1)}
	reply, answered, err := driver.Call(protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.Open{Sort: session.Local}})
	if err != nil {
		return nil, err
	}
	if !answered {
		panic("node: the opening of a local session was not answered at once")
	}
	opened := reply.Result.(*session.Opened)
	s.id = opened.ID
	return s, opened.Err
}

// Deliver takes what the spaces decide about requests of this session, unless it
// answers a call within its own step.
func (s *localSession) Deliver(replies []protocol.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range replies {
		s.decided(&replies[i].Decision)
	}
}

// decided is called with the mutex held, and under the driver's: it only moves
// things.
func (s *localSession) decided(d *lock.Decision) {
	switch d.Kind {
	case lock.Granted, lock.Refused:
		if w := s.waiting[d.Request]; w != nil {
			delete(s.waiting, d.Request)
			w.decided <- *d
			return
		}
		s.keepEarly(d)
	case lock.Lost, lock.Revoked:
		h, ok := s.held.remove(d.Request)
		if !ok {
			s.keepEarly(d)
			return
		}
		if h.alarm != nil {
			s.alarms.Stop(h.alarm)
		}
		// The loss comes before the grant that it makes possible, so the lock ends here
		// before anybody is told that the name is theirs (P3).
		h.lock.End(d.Loss)
		if d.Kind == lock.Revoked {
			s.acknowledging.Go(func() { s.acknowledge(h) })
		}
	}
}

// keepEarly keeps a decision for the caller who is about to ask for it.
func (s *localSession) keepEarly(d *lock.Decision) {
	s.earlier.Store(true)
	s.early[d.Request] = *d
}

// acknowledge tells the authority, which waits for it, that a lock has ended. It runs
// on a goroutine of its own, because it calls the driver, whose word it answers.
func (s *localSession) acknowledge(h holding) {
	if err := s.release(h); err != nil && !errors.Is(err, holdfast.ErrNotHeld) && !errors.Is(err, holdfast.ErrClosed) {
		panic(fmt.Sprintf("node: acknowledging the end of %q: %v", h.lock.Name(), err))
	}
}

// Now reads the member's clock.
func (s *localSession) Now() time.Duration { return s.driver.Now() }

// Deadline returns that the session does not end by itself: it ends with the process.
func (s *localSession) Deadline() time.Duration { return holdfast.Forever }

// limit lets h end at end, in the member's time, by its own clock: the authority
// gives the name to others only after that. It is called with the mutex held.
func (s *localSession) limit(h *holding, end time.Duration) {
	if end == holdfast.Forever {
		if h.alarm != nil {
			s.alarms.Stop(h.alarm)
		}
		return
	}
	if h.alarm == nil {
		h.alarm = new(clock.Alarm)
	}
	held := h.lock
	// Check ends a lock whose time has come. The authority will say so as well.
	s.alarms.Set(h.alarm, after(s.begin, end), func() { held.Check() })
}

// after returns t + d, or Forever where that is beyond what a clock can count.
func after(t, d time.Duration) time.Duration {
	return t + min(d, holdfast.Forever-t)
}

// close ends the session: waits end with ErrClosed, locks are released. That is done
// when it returns, whoever called it first.
func (s *localSession) close() { s.closing.Do(s.end) }

func (s *localSession) end() {
	s.mu.Lock()
	s.closed = true
	waiting, held := s.waiting, s.held
	s.waiting, s.held = map[uint64]*wait{}, holdings{}
	s.mu.Unlock()
	// Ended here before it is released there, so that nobody believes in a lock that
	// another may have.
	for _, h := range held.all() {
		h.lock.End(holdfast.ErrClosed)
	}
	// Acknowledged while the session lives: afterwards the authority would not know who
	// speaks.
	s.acknowledging.Wait()
	s.driver.Detach(s.sink)
	s.alarms.Close()
	for id, w := range waiting {
		w.decided <- lock.Decision{Kind: lock.Refused, Request: id, Err: holdfast.ErrClosed}
	}
}
