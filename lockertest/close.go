package lockertest

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func closeChecks() []check {
	return []check{
		{name: "close_with_holders", run: (*stage).closeWithHolders},
		{name: "close_with_waiters", run: (*stage).closeWithWaiters},
		{name: "close_then_call", run: (*stage).closeThenCall},
		{name: "close_by_many", run: (*stage).closeByMany},
		{name: "close_of_a_space_closes_nothing", run: (*stage).closeOfSpace},
		{name: "close_leaves_no_goroutine", run: (*stage).closeLeavesNoGoroutine},
	}
}

func (s *stage) close(locks holdfast.Locker) {
	s.Helper()
	if err := closeWithin(s.ctx, locks); err != nil {
		s.Errorf("Close: %v", err)
	}
}

// closeWithHolders checks that every lock has ended when Close returns, and passes to a waiter.
func (s *stage) closeWithHolders() {
	one, two := s.locker(), s.locker()
	var locks []*holdfast.Lock
	var waiters []*waiter
	for i := range 4 {
		locks = append(locks, s.lock(one, s.name(i)))
		waiters = append(waiters, s.queue(two, s.name(i)))
	}
	done := locks[0].Context().Done()
	s.close(one)
	select {
	case <-done:
	case <-s.ctx.Done():
		s.Errorf("a Context is not done after Close")
	}
	for i, w := range waiters {
		if locks[i].Context().Err() == nil || locks[i].Check() == nil {
			s.Errorf("%q is held after Close", locks[i].Name())
		}
		if err := locks[i].Unlock(s.ctx); err == nil {
			s.Errorf("Unlock after Close returns nil, want an error")
		}
		s.unlock(s.passed(locks[i], w))
	}
}

// closeWithWaiters checks that every wait of that Locker ends with ErrClosed, and leaves nothing that blocks others.
func (s *stage) closeWithWaiters() {
	one, two, three := s.locker(), s.locker(), s.locker()
	name, other := s.name(), s.name("other")
	held := s.lock(one, name)
	var waiters []*waiter
	for range 5 {
		waiters = append(waiters, s.queue(two, name))
	}
	all := s.queueAll(s.ctx, two, []string{other, name})
	behind := s.queue(three, name)
	s.close(two)
	for _, w := range append(waiters, all) {
		s.gaveUp(w, holdfast.ErrClosed)
	}
	s.waiting(behind)
	s.unlock(held)
	s.unlock(s.granted(behind))
	s.free(name, other)
}

// closeThenCall checks that every later call returns ErrClosed, and a second Close nil.
func (s *stage) closeThenCall() {
	locks := s.locker()
	space := locks.Space("")
	held := s.lock(locks, s.name("held"))
	s.close(locks)
	s.close(locks)
	for _, closed := range []holdfast.Locker{locks, space, locks.Space("")} {
		lock, err := closed.Lock(s.ctx, s.name())
		s.refused(lock, err, holdfast.ErrClosed)
		lock, err = closed.TryLock(s.ctx, s.name())
		s.refused(lock, err, holdfast.ErrClosed)
		all, err := closed.LockAll(s.ctx, []string{s.name("a"), s.name("b")})
		s.want(err, holdfast.ErrClosed)
		if len(all) != 0 {
			s.Errorf("%d locks came with the error %v", len(all), err)
		}
	}
	if err := held.Extend(s.ctx, s.caps.Patience); err == nil {
		s.Errorf("Extend after Close returns nil, want an error")
	}
	s.free(s.name(), s.name("held"))
}

// closeByMany closes one Locker from many goroutines while others lock through it.
func (s *stage) closeByMany() {
	locks := s.locker()
	s.each(24, func(i int) error {
		if i%3 == 0 {
			return closeWithin(s.ctx, locks)
		}
		for range 10 {
			lock, err := locks.Lock(s.ctx, s.name(i%4))
			if errors.Is(err, holdfast.ErrClosed) {
				return nil
			}
			if err != nil {
				return err
			}
			// This or Close may end it. The name is free after both.
			err = lock.Unlock(s.ctx)
			if err != nil && !errors.Is(err, holdfast.ErrNotHeld) && !errors.Is(err, holdfast.ErrClosed) {
				return err
			}
		}
		return nil
	})
	for i := range 4 {
		s.free(s.name(i))
	}
}

// closeOfSpace closes the Locker of a space, which is a view of a session and not a session.
func (s *stage) closeOfSpace() {
	locks := s.locker()
	space := locks.Space("")
	lock := s.lock(space, s.name())
	s.close(space)
	if err := lock.Check(); err != nil {
		s.Errorf("a lock after the Locker of its space was closed: %v", err)
	}
	s.unlock(s.lock(locks, s.name("other")))
	s.unlock(s.lock(space, s.name("again")))
	s.unlock(lock)
}

// closeLeavesNoGoroutine uses a Locker in every way and checks that Close ends all its goroutines. A leak shows on each
// trial; servers in the same process may open connections among themselves once, which stay open.
func (s *stage) closeLeavesNoGoroutine() {
	other := s.locker()
	name := s.name()
	held := s.lock(other, name)
	var left []string
	for trial := range leakTrials {
		if left = s.leftByClose(name, trial); len(left) == 0 {
			break
		}
	}
	if len(left) > 0 {
		s.Errorf("goroutines are left after Close, %d times:\n%s", leakTrials, strings.Join(left, "\n\n"))
	}
	s.unlock(held)
}

// leakTrials is the number of trials with leftover goroutines after which they count as leaked.
const leakTrials = 4

// leftByClose returns the goroutines left by a used and closed Locker, after some time to end. Another Locker holds the
// name. Goroutines inherit the labels of their creator, which excludes those of other tests that run at the same time.
func (s *stage) leftByClose(name string, trial int) []string {
	mark := s.name(trial)
	pprof.Do(s.ctx, pprof.Labels(leakLabel, mark), func(context.Context) { s.useAndClose(name) })
	until, stop := context.WithTimeout(s.ctx, s.caps.Patience/(2*leakTrials))
	defer stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		left := s.labelled(mark)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-until.Done():
			return left
		}
	}
}

// useAndClose uses a new Locker in every way, and closes it.
func (s *stage) useAndClose(name string) {
	locks := s.locker()
	lock := s.lock(locks, s.name("held"))
	child, cancel := context.WithCancel(lock.Context())
	defer cancel()
	ctx, giveUp := context.WithCancel(s.ctx)
	defer giveUp()
	cancelled, closed := s.queueWith(ctx, locks, name), s.queue(locks, name)
	giveUp()
	s.gaveUp(cancelled, context.Canceled)
	if !s.caps.NoObserve {
		lock.Wanted()
		defer s.observe(locks, name).wait()
	}
	if !s.caps.NoHold {
		s.lost(s.lockBriefly(locks, s.name("short")), holdfast.HoldLimit)
	}
	s.close(locks)
	s.gaveUp(closed, holdfast.ErrClosed)
	<-child.Done()
}

// leakLabel is the label of goroutines started by a Locker.
const leakLabel = "lockertest"

// labelled returns the goroutines with a label, equal ones grouped, each with its stack.
func (s *stage) labelled(value string) (found []string) {
	s.Helper()
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		s.Fatalf("list the goroutines: %v", err)
	}
	mark := fmt.Sprintf("%q:%q", leakLabel, value)
	for record := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(record, mark) {
			found = append(found, record)
		}
	}
	return found
}
