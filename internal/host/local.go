package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// localSession is this process as a client of its own member. It is the sink of the driver's answers, and the session
// behind its locks.
type localSession struct {
	driver *run.Driver
	ends   []deadline // of its holds: the member's lease first
	called func(protocol.ID) string
	port   func(space string) protocol.Port
	who    func(context.Context) (*membership.Self, error)
	// observes returns how names of a space are observed; nil for an unknown space.
	observes func(space string) Observes

	id     lock.SessionID
	sink   uint64
	last   atomic.Uint64 // number of the last call that neither acquires nor releases
	alarms *clock.Alarms
	begin  time.Duration // the member's time zero on the alarms' clock

	extending     turns          // of hold limits
	amending      turns          // of values
	revisions     atomic.Uint64  // of amendments
	acknowledging sync.WaitGroup // ends not yet reported to the authority
	closing       sync.Once
	over          chan struct{} // closed when the session ends

	mu      sync.Mutex
	closed  bool
	waiting map[uint64]*wait              // by request
	answers map[uint64]chan lock.Decision // to calls about a request, by their numbers
	held    holdings
	early   map[uint64]lock.Decision // decided before their callers could register as waiting
	inside  inside                   // locks through insiders
	earlier atomic.Bool              // there was an early decision once: only then is there anything to forget
}

// deadline is when locks end unless it is extended. An alarm checks them then.
type deadline struct {
	at    *atomic.Int64
	alarm clock.Alarm
	set   bool
}

// next returns the time of the deadline.
func (d *deadline) next() time.Duration { return time.Duration(d.at.Load()) }

// number numbers a call that neither acquires nor releases.
func (s *localSession) number() uint64 { return run.OwnCalls | s.last.Add(1) }

// wait is a call that waits for its grant.
type wait struct {
	decided chan lock.Decision // buffered: exactly one final decision comes
	queued  chan int           // buffered: gets the position, once it is known; nil if no caller wants it
}

var _ holdfast.Backing = (*localSession)(nil)

// openLocal opens a session of the process, whose locks end at one of ends, the first of which is the lease's end.
// Called returns the names of members, port that of a space, and who the member's knowledge of itself.
func openLocal(driver *run.Driver, ends []*atomic.Int64, called func(protocol.ID) string, port func(string) protocol.Port,
	who func(context.Context) (*membership.Self, error)) (*localSession, error) {
	c, begin := driver.Clock()
	s := &localSession{
		driver:  driver,
		ends:    make([]deadline, len(ends)),
		called:  called,
		port:    port,
		who:     who,
		alarms:  clock.NewAlarms(c),
		begin:   begin,
		over:    make(chan struct{}),
		waiting: map[uint64]*wait{},
		answers: map[uint64]chan lock.Decision{},
		early:   map[uint64]lock.Decision{},
	}
	for i, at := range ends {
		s.ends[i].at = at
	}
	s.sink = driver.Attach(s)
	call := protocol.CallID{Sink: s.sink, Op: s.number()}
	reply, answered, err := driver.Call(protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.Open{Kind: session.Local}})
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

// Deliver receives the spaces' decisions about requests of this session, and answers to calls about them, unless those
// came within the call's own step.
func (s *localSession) Deliver(replies []protocol.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range replies {
		d := &replies[i].Decision
		if op := replies[i].To.Op; op == d.Request {
			s.decided(d)
		} else if line := s.answers[op]; line != nil {
			delete(s.answers, op)
			line <- *d
		} else if isUnlock(op) {
			s.keepAnswer(op, d)
		}
	}
}

// keepAnswer keeps the answer to a release for the call that is about to wait for it.
func (s *localSession) keepAnswer(op uint64, d *lock.Decision) {
	line := make(chan lock.Decision, 1)
	line <- *d
	s.answers[op] = line
}

// decided handles one decision. It is called with the mutex held, and under the driver's: it only moves data.
func (s *localSession) decided(d *lock.Decision) {
	switch d.Kind {
	case lock.Queued:
		if w := s.waiting[d.Request]; w != nil {
			w.notify(d.Position)
		} else if _, held := s.held.get(d.Request); !held {
			s.keepEarly(d)
		}
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
		// The loss comes before the grant that it makes possible, so the lock ends here before another client learns
		// that it has the name (P3).
		h.lock.End(d.Loss)
		if d.Kind == lock.Revoked {
			s.acknowledging.Go(func() { s.acknowledge(h) })
		}
	}
}

// notify passes a known position to a caller that has not received one yet.
func (w *wait) notify(position int) {
	if w.queued == nil || position < 0 {
		return
	}
	select {
	case w.queued <- position:
	default: // one position was sent
	}
}

// keepEarly keeps a decision for the caller that is about to ask for it.
func (s *localSession) keepEarly(d *lock.Decision) {
	s.earlier.Store(true)
	s.early[d.Request] = *d
}

// acknowledge confirms to the waiting authority that a lock has ended. It runs on its own goroutine, because it calls
// the driver from within a delivery.
func (s *localSession) acknowledge(h holding) {
	if err := s.release(h); err != nil && !errors.Is(err, holdfast.ErrNotHeld) && !errors.Is(err, holdfast.ErrClosed) {
		panic(fmt.Sprintf("node: acknowledging the end of %q: %v", h.lock.Name(), err))
	}
}

// Now reads the member's clock.
func (s *localSession) Now() time.Duration { return s.driver.Now() }

// Deadline returns when the session's holds end unless the member's lease is renewed: holdfast.Forever for a member
// alone. The session ends with the process.
func (s *localSession) Deadline() time.Duration { return s.ends[0].next() }

// guard sets alarms for the end of the lease, or of a space's assurance. It is called with the mutex held.
func (s *localSession) guard() {
	for i := range s.ends {
		s.guardEnd(&s.ends[i])
	}
}

func (s *localSession) guardEnd(d *deadline) {
	if d.set {
		return
	}
	if end := d.next(); end != holdfast.Forever {
		d.set = true
		s.alarms.Set(&d.alarm, after(s.begin, end), func() { s.onEnd(d) })
	}
}

// onEnd ends locks that a deadline no longer covers, if it was not moved.
func (s *localSession) onEnd(d *deadline) {
	if d.next() <= s.Now() {
		// The machine goes first: it knows the reason.
		s.driver.Step(protocol.Event{Kind: protocol.Tick})
		for _, h := range s.takeEnded() {
			s.acknowledge(h)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.set = false
	if s.held.used > 0 && d.next() > s.Now() {
		s.guardEnd(d)
	}
}

// takeEnded returns the locks that have ended by the clock, and forgets them.
func (s *localSession) takeEnded() (ended []holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var requests []uint64
	for id, h := range s.held.all() {
		if h.lock.Check() != nil {
			requests = append(requests, id)
		}
	}
	for _, id := range requests {
		h, _ := s.held.remove(id)
		if h.alarm != nil {
			s.alarms.Stop(h.alarm)
		}
		ended = append(ended, h)
	}
	return ended
}

// limit makes h end at end, in the member's time, by its own clock: the authority gives the name to others only after
// that. It is called with the mutex held.
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
	// Check ends a lock whose time has come. The authority will report it as well.
	s.alarms.Set(h.alarm, after(s.begin, end), func() { held.Check() })
}

// after returns t + d, or Forever if that overflows.
func after(t, d time.Duration) time.Duration {
	return t + min(d, holdfast.Forever-t)
}

// close ends the session: waits end with ErrClosed, locks are released. That is complete when it returns, even if
// another call came first.
func (s *localSession) close() (err error) {
	s.closing.Do(func() {
		s.end()
		err = s.inside.close()
	})
	return err
}

func (s *localSession) end() {
	s.mu.Lock()
	s.closed = true
	close(s.over)
	waiting, held := s.waiting, s.held
	s.waiting, s.held = map[uint64]*wait{}, holdings{}
	s.mu.Unlock()
	// Ended here before it is released there, so that no caller believes in a lock that another may have.
	for _, h := range held.all() {
		h.lock.End(holdfast.ErrClosed)
	}
	// Acknowledged while the session lives: afterwards the authority would not recognize it.
	s.acknowledging.Wait()
	s.driver.Detach(s.sink)
	s.alarms.Close()
	for id, w := range waiting {
		w.decided <- lock.Decision{Kind: lock.Refused, Request: id, Err: holdfast.ErrClosed}
	}
}
