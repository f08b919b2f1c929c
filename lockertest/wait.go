package lockertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func waitChecks() []check {
	return []check{
		{name: "try_lock", run: (*stage).tryLock},
		{name: "wait_limit", run: (*stage).waitLimit},
		{name: "cancel_while_waiting", run: (*stage).cancelWhileWaiting},
		{name: "cancel_wakes_those_behind", need: needShared, run: (*stage).cancelWakesThoseBehind},
		{name: "wait_limit_wakes_those_behind", need: needShared, run: (*stage).waitLimitWakesThoseBehind},
	}
}

// tryLock checks that a free name is granted at once, and a held one refused without a wait.
func (s *stage) tryLock() {
	one, two := s.locker(), s.locker()
	name := s.name()
	lock, err := one.TryLock(s.ctx, name)
	if err != nil {
		s.Fatalf("TryLock of a free name: %v", err)
	}
	for _, locks := range []holdfast.Locker{one, two} {
		other, err := locks.TryLock(s.ctx, name)
		s.refused(other, err, holdfast.ErrHeld)
		var opErr *holdfast.Error
		if errors.As(err, &opErr) && opErr.Name != name {
			s.Errorf("the error %q names %q, want %q", err, opErr.Name, name)
		}
	}
	s.unlock(lock)
	s.free(name)
}

// waitLimit checks for ErrHeld when Wait has passed, and for the context's error if the context ends first; neither
// leaves anything behind.
func (s *stage) waitLimit() {
	one, two := s.locker(), s.locker()
	name := s.name()
	held := s.lock(one, name)
	lock, err := two.Lock(s.ctx, name, holdfast.Wait(time.Millisecond))
	for errors.Is(err, holdfast.ErrUnavailable) && s.ctx.Err() == nil { // a busy authority may be too late to say more
		lock, err = two.Lock(s.ctx, name, holdfast.Wait(time.Millisecond))
	}
	s.refused(lock, err, holdfast.ErrHeld)

	ctx, cancel := context.WithTimeout(s.ctx, time.Millisecond)
	defer cancel()
	lock, err = two.Lock(ctx, name, holdfast.Wait(24*time.Hour))
	s.refused(lock, err, context.DeadlineExceeded)

	long := s.queue(two, name, holdfast.Wait(24*time.Hour))
	s.unlock(held)
	s.unlock(s.granted(long))
	s.free(name)
}

// cancelWhileWaiting cancels the first, a middle and the last request of a queue. The others are granted, and the
// cancelled ones hold nothing.
func (s *stage) cancelWhileWaiting() {
	one, two := s.locker(), s.locker()
	name := s.name()
	held := s.lock(one, name)
	var waiters []*waiter
	var cancels []context.CancelFunc
	for i := range 7 {
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		locks := one
		if i%2 == 0 {
			locks = two
		}
		waiters, cancels = append(waiters, s.queueWith(ctx, locks, name)), append(cancels, cancel)
	}
	gone := map[int]bool{0: true, 3: true, 6: true}
	for i := range waiters {
		if gone[i] {
			cancels[i]()
			s.gaveUp(waiters[i], context.Canceled)
		}
	}
	s.unlock(held)
	var left []*waiter
	for i, w := range waiters {
		if !gone[i] {
			left = append(left, w)
		}
	}
	for len(left) > 0 {
		next := 0
		if s.caps.NoFIFO {
			next = s.first(left)
		}
		s.unlock(s.granted(left[next]))
		left = slices.Delete(left, next, next+1)
	}
	s.free(name)
}

// cancelWakesThoseBehind cancels a waiting exclusive request. The shared one behind it is compatible with the holder
// and is granted without any release.
func (s *stage) cancelWakesThoseBehind() {
	one, two := s.locker(), s.locker()
	name := s.name()
	reader := s.lock(one, name, holdfast.Shared())
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	writer := s.queueWith(ctx, two, name)
	behind := s.maybeQueued(one, name, holdfast.Shared())
	cancel()
	s.gaveUp(writer, context.Canceled)
	lock := s.granted(behind)
	s.unlock(reader, lock)
	s.free(name)
}

// waitLimitWakesThoseBehind is the same for a wait limit. On a slow machine the limit may pass before the request is
// queued: then no request waits behind it.
func (s *stage) waitLimitWakesThoseBehind() {
	one, two := s.locker(), s.locker()
	name := s.name()
	reader := s.lock(one, name, holdfast.Shared())
	for decided := false; !decided; {
		impatient := s.maybeQueued(two, name, holdfast.Wait(50*time.Millisecond))
		behind := s.maybeQueued(one, name, holdfast.Shared())
		got := s.outcome(impatient)
		decided = !errors.Is(got.err, holdfast.ErrUnavailable) || s.ctx.Err() != nil // a busy authority may be too late to say more
		if decided {
			s.want(got.err, holdfast.ErrHeld)
		}
		s.unlock(s.granted(behind))
	}
	s.unlock(reader)
	s.free(name)
}

// maybeQueued calls Lock on a goroutine and does not check whether it has to wait.
func (s *stage) maybeQueued(locks holdfast.Locker, name string, options ...holdfast.Option) *waiter {
	w := &waiter{name: name, result: make(chan outcome, 1)}
	queued := make(chan struct{}, 1)
	options = append(options[:len(options):len(options)], holdfast.OnQueued(func(int) { queued <- struct{}{} }))
	go func() {
		lock, err := locks.Lock(s.ctx, name, options...)
		if err != nil {
			w.result <- outcome{err: err}
			return
		}
		w.result <- outcome{locks: []*holdfast.Lock{lock}}
	}()
	select {
	case <-queued:
	case got := <-w.result:
		w.result <- got
	case <-s.ctx.Done():
		s.Fatalf("a request for %q is neither queued nor answered: %v", name, s.ctx.Err())
	}
	return w
}
