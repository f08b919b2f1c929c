package lockertest

import (
	"errors"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
)

func unlockChecks() []check {
	return []check{
		{name: "unlock_twice", run: (*stage).unlockTwice},
		{name: "unlock_at_once_by_many", run: (*stage).unlockAtOnce},
		{name: "release_by_a_stranger", need: needRelease, run: (*stage).releaseByStranger},
		{name: "release_twice", need: needRelease, run: (*stage).releaseTwice},
		{name: "release_of_a_passed_token", need: needRelease, run: (*stage).releaseOfPassedToken},
	}
}

// unlockTwice wants the second unlock to be ErrNotHeld and to free nothing: neither
// while another holds the name, nor while the same session holds it again (P7).
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

// unlockAtOnce wants exactly one of many concurrent unlocks to succeed.
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

// releaseByStranger sends the token of a lock that another session holds. It is
// ErrNotHeld and the holder keeps its lock.
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

// again checks what a release was answered that was sent again.
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

// releaseOfPassedToken sends an old release while the same session holds the name
// again: it names another grant and frees nothing.
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
