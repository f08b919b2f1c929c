package holdfasttest

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// session is the session of a client, which backs its locks.
type session struct {
	client *client
	id     lock.SessionID
	over   chan struct{} // closed when it has ended
	err    error         // why; set before
}

var _ holdfast.Backing = (*session)(nil)

// Now reads the clock of all sessions.
func (s *session) Now() time.Duration { return s.client.authority.now() }

// Deadline returns holdfast.Forever: the session ends when the test says so.
func (s *session) Deadline() time.Duration { return holdfast.Forever }

// UnlockLock releases a lock that has already ended, and waits for an authority.
func (s *session) UnlockLock(ctx context.Context, l *holdfast.Lock) error {
	resumed := s.release(l)
	if resumed == nil {
		return nil
	}
	select {
	case <-resumed:
		return nil
	case <-s.over:
		if errors.Is(s.err, holdfast.ErrClosed) { // Close has released it
			return nil
		}
		return &holdfast.Error{Op: "unlock", Space: l.Space(), Name: l.Name(), Err: s.err}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// QueueUnlock releases a lock that has already ended.
func (s *session) QueueUnlock(l *holdfast.Lock) error {
	s.release(l)
	return nil
}

// release releases a lock in its table. While the locks are paused, the table grants nothing for it; resumed is closed
// when that is over.
func (s *session) release(l *holdfast.Lock) (resumed <-chan struct{}) {
	a := s.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.requests[l.Request()]
	if r == nil || r.lock != l {
		return nil // it was lost or closed at this moment, and released by that
	}
	a.forget(r)
	a.step(func(now lock.Time, _ *[]lock.Decision) { a.giveBack(now, r) })
	return a.resumed
}

// extension is a new hold limit for the grant of a lock.
type extension struct {
	lock *holdfast.Lock
	hold time.Duration
	end  lock.Time  // counted from the call
	done chan error // has room for the answer
}

// ExtendLock replaces the hold limit of the grant of a lock. While the locks are paused, it waits; the limit is replaced
// later even if ctx ends.
func (s *session) ExtendLock(ctx context.Context, l *holdfast.Lock, hold time.Duration) error {
	return s.outcome(ctx, l, s.extend(l, hold).done)
}

// ObserveLock observes the name of l.
func (s *session) ObserveLock(ctx context.Context, l *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	return (&Locker{client: s.client, space: l.Space()}).Observe(ctx, l.Name())
}

// AmendLock amends the grant of a lock. While the locks are paused, it waits; the grant is amended later even if ctx
// ends.
func (s *session) AmendLock(ctx context.Context, l *holdfast.Lock, amendment holdfast.Amendment) error {
	return s.outcome(ctx, l, s.amend(l, amendment))
}

// outcome waits for the answer to a change of a lock.
func (s *session) outcome(ctx context.Context, l *holdfast.Lock, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-s.over:
		return l.Check()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// amend begins an amendment, whose answer comes on done.
func (s *session) amend(l *holdfast.Lock, amendment holdfast.Amendment) (done chan error) {
	a := s.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	done = make(chan error, 1)
	a.revisions++
	wanted := lock.Amendment{Revision: a.revisions, Value: amendment.Value}
	a.change(func(now lock.Time) {
		r := a.requests[l.Request()]
		if r == nil || r.lock != l {
			done <- l.Check() // it has ended
			return
		}
		d, _ := a.tableOf(l.Space()).Amend(now, r.session.id, l.Name(), l.Token(), l.Request(), &wanted)
		if d.Kind == lock.Refused && l.Check() == nil {
			done <- &holdfast.Error{Op: "set value", Space: l.Space(), Name: l.Name(), Err: d.Err}
			return
		}
		done <- l.Check()
	})
	return done
}

// extend begins an extension.
func (s *session) extend(l *holdfast.Lock, hold time.Duration) *extension {
	a := s.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	x := &extension{lock: l, hold: hold, end: holdfast.Forever, done: make(chan error, 1)}
	if hold > 0 {
		x.end = after(now, hold)
	}
	// An earlier end counts here before the table knows it, a later one only after.
	for _, mate := range a.grantOf(l) {
		if x.end < mate.lock.Deadline() {
			mate.limit(now, x.end)
		}
	}
	a.change(func(now lock.Time) { a.extend(now, x) })
	return x
}

// change carries out a change of a grant, now or with Resume.
func (a *authority) change(act func(now lock.Time)) {
	if a.resumed != nil {
		a.changes = append(a.changes, act)
		return
	}
	a.step(func(now lock.Time, _ *[]lock.Decision) { act(now) })
}

// extend carries out an extension, and answers it.
func (a *authority) extend(now lock.Time, x *extension) {
	l := x.lock
	mates := a.grantOf(l)
	if len(mates) == 0 {
		x.done <- l.Check() // it has ended
		return
	}
	err := a.tableOf(l.Space()).Extend(now, mates[0].session.id, l.Name(), l.Token(), x.hold)
	if err != nil && l.Check() == nil {
		x.done <- &holdfast.Error{Op: "extend", Space: l.Space(), Name: l.Name(), Err: err}
		return
	}
	for _, mate := range mates {
		if err == nil {
			mate.limit(now, x.end)
		}
		if mate.lock.Check() != nil { // the table would keep the name until its own limit
			a.forget(mate)
			a.giveBack(now, mate)
		}
	}
	x.done <- l.Check()
}

// grantOf returns the requests by which a lock's grant is held: several if its owner has re-entered it.
func (a *authority) grantOf(l *holdfast.Lock) (mates []*request) {
	first := a.requests[l.Request()]
	if first == nil || first.lock != l {
		return nil
	}
	if first.want.Owner == "" {
		return []*request{first}
	}
	for _, r := range a.requests {
		if r.session == first.session && r.lock != nil && r.space == first.space && r.want.Name == l.Name() && r.lock.Token() == l.Token() {
			mates = append(mates, r)
		}
	}
	return mates
}
