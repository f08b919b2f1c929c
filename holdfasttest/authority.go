package holdfasttest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// authority keeps the lock tables. It has no goroutine: the calls of its clients step the tables, and one timer does
// when a time limit has passed.
type authority struct {
	t         testing.TB
	leaveHeld bool
	class     holdfast.Class
	start     time.Time

	mu       sync.Mutex
	spaces   []*lockspace
	clients  []*client
	requests map[uint64]*request // that wait or hold, by id
	last     uint64              // id of the last request
	sessions uint64              // number of the last session
	alarm    *time.Timer
	wakes    lock.Time // when the alarm rings
	out      []lock.Decision
	ended    bool // the test has

	resumed   chan struct{}     // closed by Resume; nil unless paused
	changes   []func(lock.Time) // of grants, that wait for Resume
	revisions uint64            // of amendments

	observers []*observer
}

// lockspace is a lockspace and its table.
type lockspace struct {
	name  string
	table *lock.Table
}

func newAuthority(t testing.TB, c config) (*authority, error) {
	a := &authority{
		t: t, leaveHeld: c.leaveHeld, class: c.class, start: time.Now(),
		requests: map[uint64]*request{}, wakes: lock.Never,
	}
	names := append([]string{holdfast.DefaultSpace}, c.spaces...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := holdfast.CheckSpace(name); err != nil {
			return nil, err
		}
		table, err := lock.New(c.limits)
		if err != nil {
			return nil, err
		}
		table.BeginReign(1, 0)
		a.spaces = append(a.spaces, &lockspace{name, table})
	}
	return a, nil
}

// tableOf returns the table of a lockspace, or nil.
func (a *authority) tableOf(name string) *lock.Table {
	for _, s := range a.spaces {
		if s.name == name {
			return s.table
		}
	}
	return nil
}

// misuse fails the test for a call that a test cannot have meant.
func (a *authority) misuse(format string, args ...any) {
	a.t.Helper()
	a.t.Errorf("holdfasttest: "+format, args...)
}

// mostElapsed is more time than any test takes, and less than what lies between a synctest bubble, whose time begins in
// the year 2000, and the present.
const mostElapsed = 10 * 365 * 24 * time.Hour

// now returns the time on the clock of all sessions.
func (a *authority) now() lock.Time {
	now := time.Since(a.start)
	if now < 0 || now > mostElapsed {
		panic("holdfasttest: the locks are used inside of a synctest bubble and outside of it, and their clocks differ; call New within the bubble")
	}
	return now
}

// step runs act on the tables, and carries out their decisions. The caller holds the mutex.
func (a *authority) step(act func(now lock.Time, out *[]lock.Decision)) {
	now := a.now()
	act(now, &a.out)
	for i := 0; i < len(a.out); i++ { // a decision may lead to others
		a.carryOut(now, &a.out[i])
	}
	clear(a.out)
	a.out = a.out[:0]
	a.setAlarm(now)
	a.look()
}

// carryOut carries out one decision. An end comes before the grants that it makes possible, so a lock ends here before
// another client has the name.
func (a *authority) carryOut(now lock.Time, d *lock.Decision) {
	r := a.requests[d.Request]
	if r == nil {
		return // it was given up
	}
	switch d.Kind {
	case lock.Queued:
		if a.resumed == nil {
			r.notify(d.Position)
		}
	case lock.Granted:
		r.grant(now, d)
	case lock.Refused:
		a.forget(r)
		r.decide(a.reason(d.Err))
	case lock.Lost:
		a.forget(r)
		r.lock.End(d.Loss)
	case lock.Revoked:
		a.forget(r)
		r.lock.End(d.Loss)
		// The table waits for the holder, which has stopped now.
		a.giveBack(now, r)
	}
}

// giveBack releases a hold in the table, which knows it.
func (a *authority) giveBack(now lock.Time, r *request) {
	err := a.tableOf(r.space).Release(now, r.session.id, r.want.Name, r.lock.Token(), r.id, &a.out)
	if err != nil {
		panic(fmt.Sprintf("holdfasttest: release of %q: %v", r.want.Name, err))
	}
}

// forget drops a request that has ended.
func (a *authority) forget(r *request) {
	delete(a.requests, r.id)
	r.stop()
}

// setAlarm sets the timer for the next time limit of a table.
func (a *authority) setAlarm(now lock.Time) {
	next := lock.Never
	for _, s := range a.spaces {
		next = min(next, s.table.Wake())
	}
	if next == a.wakes {
		return
	}
	if a.alarm != nil {
		a.alarm.Stop()
		a.alarm = nil
	}
	if a.wakes = next; next != lock.Never {
		a.alarm = time.AfterFunc(next-now, a.ring)
	}
}

// ring passes the time to the tables.
func (a *authority) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	a.alarm, a.wakes = nil, lock.Never
	a.step(func(now lock.Time, out *[]lock.Decision) {
		for _, s := range a.spaces {
			s.table.Tick(now, out)
		}
	})
}

// reason converts the reason of a refusal for users.
func (a *authority) reason(err error) error {
	var by *lock.HeldBy
	switch {
	case errors.As(err, &by):
		return by.ErrorFor("", time.Now())
	case errors.Is(err, holdfast.ErrUnavailable):
		return &holdfast.UnavailableError{Why: "the test has paused the locks"}
	}
	return err
}

// newClient returns the Locker of a new client, in the default lockspace.
func (a *authority) newClient(name string) *Locker {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &client{authority: a, name: name, closed: a.ended}
	a.open(c)
	a.clients = append(a.clients, c)
	return &Locker{client: c, space: holdfast.DefaultSpace}
}

// open gives a client a new session.
func (a *authority) open(c *client) {
	a.sessions++
	c.session = &session{client: c, id: lock.SessionID{Member: 1, Number: a.sessions}, over: make(chan struct{})}
}

// expire ends the session of a client, which gets another.
func (a *authority) expire(c *client) {
	old := c.session
	waiting := a.endSession(old, holdfast.SessionExpired)
	a.open(c)
	for _, r := range waiting {
		r.session = c.session
		a.ask(r)
	}
}

// close ends the session of a client for good.
func (a *authority) close(c *client) {
	if c.closed {
		return
	}
	c.closed = true
	for _, r := range a.endSession(c.session, holdfast.ErrClosed) {
		r.decide(holdfast.ErrClosed)
	}
	for _, o := range a.observers {
		if o.client == c {
			o.signal()
		}
	}
}

// endSession ends a session and its locks because of why. It returns the requests that wait, in order, of which the
// tables know nothing any more.
func (a *authority) endSession(s *session, why error) (waiting []*request) {
	var all []*request
	for _, r := range a.requests {
		if r.session == s {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(x, y *request) int { return cmp.Compare(x.id, y.id) })
	for _, r := range all {
		a.forget(r)
		if r.lock != nil {
			r.lock.End(why)
		} else {
			waiting = append(waiting, r)
		}
	}
	s.err = why
	close(s.over)
	a.step(func(now lock.Time, out *[]lock.Decision) {
		for _, other := range a.spaces {
			other.table.EndSession(now, s.id, "", out)
		}
	})
	return waiting
}

// pause makes the tables grant nothing.
func (a *authority) pause() {
	if a.resumed != nil {
		return
	}
	a.resumed = make(chan struct{})
	for _, s := range a.spaces {
		s.table.Pause()
	}
}

// resume carries out what has waited for the authority.
func (a *authority) resume() {
	if a.resumed == nil {
		return
	}
	a.step(func(now lock.Time, out *[]lock.Decision) {
		for _, change := range a.changes {
			change(now)
			a.look()
		}
		for _, s := range a.spaces {
			s.table.Resume(now, out)
		}
	})
	close(a.resumed)
	a.resumed, a.changes = nil, nil
	a.notifyQueued()
}

// notifyQueued reports their positions to the calls that an authority has queued only now.
func (a *authority) notifyQueued() {
	for _, r := range a.requests {
		if d, waits := a.tableOf(r.space).Queued(r.session.id, r.want.Name, r.id); waits {
			r.notify(d.Position)
		}
	}
}
