package lockertest

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func contextChecks() []check {
	return []check{
		{name: "context_done_before", run: (*stage).contextDoneBefore},
		{name: "context_ends_the_wait_only", run: (*stage).contextEndsWaitOnly},
		{name: "context_deadline_tells_why", run: (*stage).contextErrorSaysWhy},
		{name: "context_values", run: (*stage).contextValues},
		{name: "context_children", run: (*stage).contextChildren},
		{name: "context_of_a_lock_bounds_another", run: (*stage).contextBoundsAnother},
	}
}

type contextKey struct{}

// contextDoneBefore checks that a done context's own error is returned and nothing is held, even if the name is free.
func (s *stage) contextDoneBefore() {
	locks := s.locker()
	name := s.name()
	cancelled, cancel := context.WithCancelCause(s.ctx)
	cancel(errors.New("a cause is no error of the context"))
	late, cancelLate := context.WithDeadline(s.ctx, time.Unix(1, 0))
	defer cancelLate()
	for _, ctx := range []context.Context{cancelled, late} {
		lock, err := locks.Lock(ctx, name)
		s.refused(lock, err, ctx.Err())
		lock, err = locks.TryLock(ctx, name)
		s.refused(lock, err, ctx.Err())
		all, err := locks.LockAll(ctx, []string{name})
		s.want(err, ctx.Err())
		if len(all) != 0 {
			s.Errorf("%d locks came with the error %v", len(all), err)
		}
		s.free(name)
	}
}

// contextEndsWaitOnly checks that a lock outlives the context of its request.
func (s *stage) contextEndsWaitOnly() {
	one, two := s.locker(), s.locker()
	name := s.name()
	ctx, cancel := context.WithCancel(s.ctx)
	lock, err := one.Lock(ctx, name)
	if err != nil {
		s.Fatalf("Lock: %v", err)
	}
	waitCtx, cancelWait := context.WithCancel(s.ctx)
	first := s.lock(one, s.name("waited"))
	w := s.queueWith(waitCtx, two, s.name("waited"))
	s.unlock(first)
	waited := s.granted(w)
	tried, err := one.TryLock(ctx, s.name("tried"))
	if err != nil {
		s.Fatalf("TryLock: %v", err)
	}
	all, err := one.LockAll(ctx, []string{s.name("all")})
	if err != nil {
		s.Fatalf("LockAll: %v", err)
	}
	cancel()
	cancelWait()
	s.settle(one)
	s.settle(two)
	for _, lock := range append(all, lock, waited, tried) {
		if lock.Check() != nil || lock.Context().Err() != nil {
			s.Errorf("%q ended with the context that it was asked with: %v", lock.Name(), lock.Check())
		}
		s.held(two, lock.Name())
		s.unlock(lock)
	}
}

// contextErrorSaysWhy checks that a wait that ends at its context's deadline says why nothing was granted, like a wait
// limit: the error is ErrHeld as well as the context's. A busy authority may be too late for that, so the check
// retries.
func (s *stage) contextErrorSaysWhy() {
	one, two := s.locker(), s.locker()
	held := s.lock(one, s.name())
	for explained := false; !explained; {
		ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
		lock, err := two.Lock(ctx, s.name())
		cancel()
		s.refused(lock, err, context.DeadlineExceeded)
		explained = errors.Is(err, holdfast.ErrHeld)
		if s.ctx.Err() != nil {
			s.Fatalf("a wait that the deadline of its context ends does not say that the name is held: %v", err)
		}
	}
	s.unlock(held)
	s.free(s.name())
}

// contextValues checks that the lock's Context has the values of the caller's context.
func (s *stage) contextValues() {
	locks := s.locker()
	ctx := context.WithValue(s.ctx, contextKey{}, "carried")
	lock, err := locks.Lock(ctx, s.name())
	if err != nil {
		s.Fatalf("Lock: %v", err)
	}
	all, err := locks.LockAll(ctx, []string{s.name("all")})
	if err != nil {
		s.Fatalf("LockAll: %v", err)
	}
	for _, lock := range append(all, lock) {
		if got := lock.Context().Value(contextKey{}); got != "carried" {
			s.Errorf("the Context of %q has value %v, want that of the caller's context", lock.Name(), got)
		}
		s.unlock(lock)
		if got := lock.Context().Value(contextKey{}); got != "carried" {
			s.Errorf("the Context of %q has value %v after Unlock", lock.Name(), got)
		}
	}
}

// contextChildren checks that contexts derived from a lock's Context, and waits for it, end with Unlock, and that a
// context derived later has already ended.
func (s *stage) contextChildren() {
	locks := s.locker()
	lock := s.lock(locks, s.name())
	if lock.Context().Err() != nil || context.Cause(lock.Context()) != nil {
		s.Errorf("the Context of a lock that is held: %v", lock.Context().Err())
	}
	child, cancel := context.WithCancel(lock.Context())
	defer cancel()
	grandchild, cancelGrandchild := context.WithTimeout(child, 24*time.Hour)
	defer cancelGrandchild()
	after := make(chan struct{})
	context.AfterFunc(lock.Context(), func() { close(after) })
	s.unlock(lock)
	for _, done := range []<-chan struct{}{child.Done(), grandchild.Done(), after} {
		select {
		case <-done:
		case <-s.ctx.Done():
			s.Fatalf("a child of the Context has not ended after Unlock")
		}
	}
	orphan, cancelOrphan := context.WithCancel(lock.Context())
	defer cancelOrphan()
	for _, ctx := range []context.Context{lock.Context(), child, grandchild, orphan} {
		if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
			s.Errorf("after Unlock a Context says %v because of %v; want %v", ctx.Err(), context.Cause(ctx), context.Canceled)
		}
	}
}

// contextBoundsAnother waits under the Context of a lock: when that lock ends, so does the wait.
func (s *stage) contextBoundsAnother() {
	one, two := s.locker(), s.locker()
	outer := s.lock(one, s.name("outer"))
	held := s.lock(two, s.name("inner"))
	w := s.queueWith(outer.Context(), one, s.name("inner"))
	s.unlock(outer)
	s.gaveUp(w, context.Canceled)
	s.unlock(held)
	s.free(s.name("outer"), s.name("inner"))

	outer = s.lock(one, s.name("outer"))
	inner, err := one.Lock(outer.Context(), s.name("inner"))
	if err != nil {
		s.Fatalf("Lock under the Context of a lock: %v", err)
	}
	s.unlock(outer)
	if err := inner.Check(); err != nil {
		s.Errorf("a lock that was asked for under the Context of another: %v", err)
	}
	s.want(outer.Unlock(s.ctx), holdfast.ErrNotHeld)
	s.unlock(inner)
}
