package lockertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// stage is the environment of one check: the test, its watchdog, and Lockers that are closed at the end.
type stage struct {
	testing.TB
	ctx    context.Context // ends when the check counts as stuck
	caps   Caps
	open   func(testing.TB) holdfast.Locker
	opened []holdfast.Locker
	killed map[holdfast.Locker]bool
	gap    bool // an observation has missed states
	trial  int  // of a check that is repeated after a gap
}

// locker opens a Locker with a separate session.
func (s *stage) locker() holdfast.Locker {
	s.Helper()
	return s.opens(s.open)
}

// opens opens a Locker with the given function.
func (s *stage) opens(open func(testing.TB) holdfast.Locker) holdfast.Locker {
	s.Helper()
	locks := open(s.TB)
	if locks == nil {
		s.Fatal("open returned no Locker")
	}
	s.opened = append(s.opened, locks)
	return locks
}

// lockers opens n of them.
func (s *stage) lockers(n int) []holdfast.Locker {
	s.Helper()
	all := make([]holdfast.Locker, n)
	for i := range all {
		all[i] = s.locker()
	}
	return all
}

// kill ends the session of a Locker that the stage has opened, without a goodbye.
func (s *stage) kill(locks holdfast.Locker) {
	s.Helper()
	if s.killed == nil {
		s.killed = map[holdfast.Locker]bool{}
	}
	s.killed[locks] = true
	s.caps.Kill(s.TB, locks)
}

// strike closes every Locker. The result of Close is unspecified for a killed session.
func (s *stage) strike() {
	ctx, cancel := context.WithTimeout(context.Background(), s.caps.Patience)
	defer cancel()
	for _, locks := range s.opened {
		if err := closeWithin(ctx, locks); err != nil && !s.killed[locks] {
			s.Errorf("Close: %v", err)
		}
	}
}

// closeWithin closes a Locker, and does not wait for a stuck Close.
func closeWithin(ctx context.Context, locks holdfast.Locker) error {
	done := make(chan error, 1)
	go func() { done <- locks.Close() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close a locker: %w", ctx.Err())
	}
}

// name returns a name that no other check uses.
func (s *stage) name(parts ...any) string {
	name := s.Name()
	if s.trial > 0 {
		name += fmt.Sprintf("/%d", s.trial)
	}
	for _, part := range parts {
		name += fmt.Sprintf("/%v", part)
	}
	return name
}

// lock takes the name, waiting if necessary, or ends the check.
func (s *stage) lock(locks holdfast.Locker, name string, options ...holdfast.Option) *holdfast.Lock {
	s.Helper()
	lock, err := locks.Lock(s.ctx, name, options...)
	if err != nil {
		s.Fatalf("Lock %q: %v", name, err)
	}
	return lock
}

// unlock releases locks that must still be held.
func (s *stage) unlock(all ...*holdfast.Lock) {
	s.Helper()
	for _, lock := range all {
		if err := lock.Unlock(s.ctx); err != nil {
			s.Errorf("Unlock of %q: %v", lock.Name(), err)
		}
	}
}

// free checks that names are free: a new session takes and releases each.
func (s *stage) free(names ...string) {
	s.Helper()
	locks := s.locker()
	for _, name := range names {
		lock, err := locks.Lock(s.ctx, name)
		if err != nil {
			s.Fatalf("%q should be free, but Lock says: %v", name, err)
		}
		s.unlock(lock)
	}
}

// held checks that no other session can take the name now.
func (s *stage) held(locks holdfast.Locker, name string, options ...holdfast.Option) {
	s.Helper()
	lock, err := locks.TryLock(s.ctx, name, options...)
	if err == nil {
		s.Errorf("TryLock of %q was granted while another holds it", name)
		s.unlock(lock)
		return
	}
	s.want(err, holdfast.ErrHeld)
}

// settle makes a round trip through the authority in the Locker's session, so that its earlier messages have most
// likely been handled. A check that relies on it can miss a fault, but never reports a false one.
func (s *stage) settle(locks holdfast.Locker) {
	s.Helper()
	s.unlock(s.lock(locks, s.name("settle")))
}

// want checks that err is the target, and that it names its operation and lock unless it comes from a context.
func (s *stage) want(err, target error) {
	s.Helper()
	if !errors.Is(err, target) {
		s.Errorf("got error %v, want %v", err, target)
		return
	}
	var wrapped *holdfast.Error
	if target == context.Canceled || target == context.DeadlineExceeded {
		return
	}
	if !errors.As(err, &wrapped) || wrapped.Op == "" {
		s.Errorf("error %v is not a *holdfast.Error with an operation", err)
	}
}

// refused checks that a call returned no lock and this error.
func (s *stage) refused(lock *holdfast.Lock, err, target error) {
	s.Helper()
	s.want(err, target)
	if lock != nil {
		s.Errorf("a lock on %q came with the error %v", lock.Name(), err)
	}
}

// ended waits until the lock's Context is done and checks the cause.
func (s *stage) ended(lock *holdfast.Lock, target error) {
	s.Helper()
	select {
	case <-lock.Context().Done():
	case <-s.ctx.Done():
		s.Fatalf("the Context of %q has not ended: %v", lock.Name(), s.ctx.Err())
	}
	if cause := context.Cause(lock.Context()); !errors.Is(cause, target) {
		s.Errorf("the Context of %q ended with cause %v, want %v", lock.Name(), cause, target)
	}
	if lock.Check() == nil {
		s.Errorf("Check of %q returns nil after its Context ended", lock.Name())
	}
}

// outcome is the result of a waiting call.
type outcome struct {
	locks []*holdfast.Lock
	err   error
}

// waiter is a call in progress.
type waiter struct {
	name     string
	position int // the number of requests ahead of it when it was queued
	result   chan outcome
}

// queue calls Lock and returns when the request waits. If it does not have to wait, the check ends.
func (s *stage) queue(locks holdfast.Locker, name string, options ...holdfast.Option) *waiter {
	s.Helper()
	return s.queueWith(s.ctx, locks, name, options...)
}

// queueWith is queue with a separate context.
func (s *stage) queueWith(ctx context.Context, locks holdfast.Locker, name string, options ...holdfast.Option) *waiter {
	s.Helper()
	return s.wait(name, func(queued holdfast.Option) outcome {
		lock, err := locks.Lock(ctx, name, append(options[:len(options):len(options)], queued)...)
		if lock == nil {
			return outcome{err: err}
		}
		return outcome{[]*holdfast.Lock{lock}, err}
	})
}

// wait runs call on its own goroutine and returns when its request is queued.
func (s *stage) wait(name string, call func(queued holdfast.Option) outcome) *waiter {
	s.Helper()
	w := &waiter{name: name, result: make(chan outcome, 1)}
	queued := make(chan int, 16)
	option := holdfast.OnQueued(func(position int) {
		select {
		case queued <- position:
		default: // a list of names that queues more than once
		}
	})
	go func() { w.result <- call(option) }()
	select {
	case w.position = <-queued:
	case got := <-w.result:
		w.result <- got
		select {
		case w.position = <-queued:
		default:
			s.Fatalf("a request for %q should have been queued; it got %v, error %v", name, got.locks, got.err)
		}
	case <-s.ctx.Done():
		s.Fatalf("a request for %q should have been queued: %v", name, s.ctx.Err())
	}
	return w
}

// outcome waits until the call returns.
func (s *stage) outcome(w *waiter) outcome {
	s.Helper()
	select {
	case got := <-w.result:
		return got
	case <-s.ctx.Done():
	}
	// The call has the same watchdog; give it time to return its result.
	ctx, cancel := context.WithTimeout(context.Background(), s.caps.Patience)
	defer cancel()
	select {
	case got := <-w.result:
		return got
	case <-ctx.Done():
		s.Fatalf("a request for %q does not return after its context has ended", w.name)
		return outcome{}
	}
}

// granted waits until the request is granted.
func (s *stage) granted(w *waiter) *holdfast.Lock {
	s.Helper()
	got := s.outcome(w)
	if got.err != nil {
		s.Fatalf("a request that waited for %q should be granted, got: %v", w.name, got.err)
	}
	if len(got.locks) == 0 {
		s.Fatalf("a request for %q returned neither a lock nor an error", w.name)
	}
	return got.locks[0]
}

// first waits until one of the requests has ended, and returns its index.
func (s *stage) first(waiters []*waiter) int {
	s.Helper()
	ended := make([]reflect.SelectCase, 0, len(waiters)+1)
	for _, w := range waiters {
		ended = append(ended, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w.result)})
	}
	ended = append(ended, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(s.ctx.Done())})
	which, got, _ := reflect.Select(ended)
	if which == len(waiters) {
		s.Fatalf("none of %d requests that waited for %q was granted", len(waiters), waiters[0].name)
	}
	waiters[which].result <- got.Interface().(outcome) // for the caller that reads it
	return which
}

// gaveUp waits until the request ends with the error, without a lock.
func (s *stage) gaveUp(w *waiter, target error) {
	s.Helper()
	got := s.outcome(w)
	s.want(got.err, target)
	if len(got.locks) > 0 {
		s.Errorf("locks on %q came with the error %v", w.name, got.err)
	}
}

// waiting checks that the request has not returned yet.
func (s *stage) waiting(w *waiter) {
	s.Helper()
	select {
	case got := <-w.result:
		w.result <- got
		s.Errorf("a request for %q should still wait; it got %v, error %v", w.name, got.locks, got.err)
	default:
	}
}

// each runs work on n goroutines, waits for all, and reports their errors.
func (s *stage) each(n int, work func(i int) error) {
	s.Helper()
	var all sync.WaitGroup
	problems := make([]error, n)
	for i := range n {
		all.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					problems[i] = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
				}
			}()
			problems[i] = work(i)
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-s.ctx.Done():
		ctx, cancel := context.WithTimeout(context.Background(), s.caps.Patience)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
			s.Fatalf("goroutines do not return after their context has ended")
		}
	}
	reported := 0
	for _, err := range problems {
		if err != nil && reported < 3 {
			reported++
			s.Errorf("%v", err)
		}
	}
}

// do runs a call that has no context.
func (s *stage) do(call func()) {
	s.Helper()
	s.each(1, func(int) error {
		call()
		return nil
	})
	if s.Failed() {
		s.FailNow()
	}
}
