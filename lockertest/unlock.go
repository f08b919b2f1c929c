package lockertest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
)

func unlockChecks() []check {
	return []check{
		{name: "unlock_twice", run: (*stage).unlockTwice},
		{name: "unlock_at_once_by_many", run: (*stage).unlockAtOnce},
		{name: "try_after_unlock", need: needHandOver, run: (*stage).tryAfterUnlock},
		{name: "unlock_async", run: (*stage).unlockAsync},
		{name: "unlock_without_time", run: (*stage).unlockWithoutTime},
		{name: "release_by_a_stranger", need: needRelease, run: (*stage).releaseByStranger},
		{name: "release_twice", need: needRelease, run: (*stage).releaseTwice},
		{name: "release_of_a_passed_token", need: needRelease, run: (*stage).releaseOfPassedToken},
	}
}

// unlockTwice checks that the second unlock is ErrNotHeld and frees nothing: neither while another holds the name, nor
// while the same session holds it again (P7).
func (s *stage) unlockTwice() {
	one, two := s.locker(), s.locker()
	name := s.name()
	first := s.lock(one, name)
	s.unlock(first)
	s.want(first.Unlock(s.ctx), holdfast.ErrNotHeld)
	for _, next := range []holdfast.Locker{two, one} {
		lock := s.lock(next, name)
		s.want(first.Unlock(s.ctx), holdfast.ErrNotHeld)
		s.want(first.Check(), holdfast.ErrNotHeld)
		s.want(first.Extend(s.ctx, s.caps.Patience), holdfast.ErrNotHeld)
		s.settle(one)
		s.held(two, name)
		if err := lock.Check(); err != nil {
			s.Errorf("the lock of the next holder: %v", err)
		}
		s.unlock(lock)
	}
	s.free(name)
}

// unlockAtOnce checks that exactly one of many concurrent unlocks succeeds.
func (s *stage) unlockAtOnce() {
	locks := s.locker()
	for i := range 50 {
		lock := s.lock(locks, s.name(i))
		var released atomic.Int32
		s.each(8, func(int) error {
			err := lock.Unlock(s.ctx)
			if err == nil {
				released.Add(1)
				return nil
			}
			if !errors.Is(err, holdfast.ErrNotHeld) {
				return err
			}
			return nil
		})
		if n := released.Load(); n != 1 {
			s.Errorf("%d of 8 concurrent unlocks succeeded, want 1", n)
		}
	}
}

// tryAfterUnlock checks that an unlocked name is free for an immediate TryLock by any session, through any member. On
// an otherwise busy machine a few attempts may end without an answer, by ErrUnavailable: the session then waits for the
// name.
func (s *stage) tryAfterUnlock() {
	unanswered, rounds := 0, min(300, 12*s.caps.Rounds) // rounds is how often the name passes to another session
	sessions := s.lockers(2)
	for range 2 {
		if s.caps.Elsewhere != nil {
			sessions = append(sessions, s.opens(s.caps.Elsewhere))
		}
	}
	lock := s.lock(sessions[0], s.name())
	for i := range rounds {
		if err := lock.Unlock(s.ctx); err != nil {
			s.Fatalf("round %d: unlock: %v", i, err)
		}
		var options []holdfast.Option
		if i%2 == 1 && !s.caps.NoShared {
			options = append(options, holdfast.Shared())
		}
		next := (i + 1 + i/len(sessions)) % len(sessions)
		var err error
		lock, err = sessions[next].TryLock(s.ctx, s.name(), options...)
		if errors.Is(err, holdfast.ErrUnavailable) {
			unanswered++
			lock, err = sessions[next].Lock(s.ctx, s.name(), options...)
		}
		if err != nil {
			s.Fatalf("round %d: a try of session %d right after an unlock: %v", i, next, err)
		}
	}
	s.unlock(lock)
	if unanswered > rounds/2 {
		s.Errorf("%d of %d tries ended without an answer", unanswered, rounds)
	}
}

// unlockAsync checks that an asynchronous release ends the lock here at once and at the authority soon, and that a
// second one is ErrNotHeld.
func (s *stage) unlockAsync() {
	one, two := s.locker(), s.locker()
	name := s.name()
	for range 20 {
		lock := s.lock(one, name)
		if err := lock.UnlockAsync(); err != nil {
			s.Fatalf("UnlockAsync: %v", err)
		}
		s.want(lock.Check(), holdfast.ErrNotHeld)
		s.want(lock.UnlockAsync(), holdfast.ErrNotHeld)
		s.want(lock.Unlock(s.ctx), holdfast.ErrNotHeld)
		s.unlock(s.lock(two, name))
	}
	s.free(name)
}

// unlockWithoutTime unlocks under a context that is done. Unlock may return its error, and the name is still freed.
func (s *stage) unlockWithoutTime() {
	one, two := s.locker(), s.locker()
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for i := range 20 {
		lock := s.lock(one, s.name(i))
		if err := lock.Unlock(ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.Errorf("Unlock with a context that is done: %v", err)
		}
		s.want(lock.Check(), holdfast.ErrNotHeld)
		s.unlock(s.lock(two, s.name(i)))
	}
}

// releaseByStranger sends the token of a lock that another session holds, and checks for ErrNotHeld and that the holder
// keeps its lock.
func (s *stage) releaseByStranger() {
	one, two := s.locker(), s.locker()
	name := s.name()
	lock := s.lock(one, name)
	w := s.queue(two, name)
	s.want(s.caps.Release(s.TB, two, lock), holdfast.ErrNotHeld)
	s.settle(two)
	s.waiting(w)
	s.held(two, name)
	if err := lock.Check(); err != nil {
		s.Errorf("the lock after a stranger tried to release it: %v", err)
	}
	s.unlock(lock)
	s.unlock(s.granted(w))
}

// again checks the answer to a resent release.
func (s *stage) again(err error) {
	s.Helper()
	switch {
	case !s.caps.Repeats:
		s.want(err, holdfast.ErrNotHeld)
	case err != nil:
		s.Errorf("a release that was sent again: %v", err)
	}
}

// releaseTwice sends the same release again, past the Lock's own memory of it.
func (s *stage) releaseTwice() {
	one, two := s.locker(), s.locker()
	name := s.name()
	lock := s.lock(one, name)
	s.unlock(lock)
	s.free(name)
	s.again(s.caps.Release(s.TB, one, lock))
	other := s.lock(two, name)
	s.again(s.caps.Release(s.TB, one, lock))
	s.held(one, name)
	if err := other.Check(); err != nil {
		s.Errorf("the next holder's lock: %v", err)
	}
	s.unlock(other)
}

// releaseOfPassedToken sends an old release while the same session holds the name again: it names another grant and
// frees nothing.
func (s *stage) releaseOfPassedToken() {
	one, two := s.locker(), s.locker()
	name := s.name()
	old := s.lock(one, name)
	s.unlock(old)
	lock := s.lock(one, name)
	s.again(s.caps.Release(s.TB, one, old))
	s.held(two, name)
	s.unlock(lock)
	s.free(name)
}
