package lockertest

import (
	"context"

	"github.com/holdfast-locks/holdfast"
)

func reentryChecks() []check {
	return []check{
		{name: "reentry", need: needReentry, run: (*stage).reentry},
		{name: "reentry_passes_the_queue", need: needReentry, run: (*stage).reentryPassesQueue},
		{name: "reentry_in_modes", need: needs(needReentry, needShared, needSlots), run: (*stage).reentryInModes},
		{name: "owner_is_of_its_session", need: needReentry, run: (*stage).ownerIsOfItsSession},
		{name: "reentry_not_offered", need: func(c Caps) string {
			return when(!c.NoReentry, "reentry is offered")
		}, run: (*stage).reentryNotOffered},
	}
}

// reentry locks a name three times for one owner. All share one token; each needs a separate unlock, in any order,
// which ends only its own Context.
func (s *stage) reentry() {
	one, two := s.locker(), s.locker()
	name, me := s.name(), holdfast.Owner("me")
	first := s.lock(one, name, me)
	second := s.lock(one, name, me)
	third, err := one.TryLock(s.ctx, name, me)
	if err != nil {
		s.Fatalf("TryLock by the owner that holds: %v", err)
	}
	if first.Token() != second.Token() || first.Token() != third.Token() {
		s.Errorf("reentry gave tokens %v, %v, %v; want one", first.Token(), second.Token(), third.Token())
	}
	w := s.queue(two, name)
	for _, lock := range []*holdfast.Lock{second, first} {
		s.unlock(lock)
		s.ended(lock, context.Canceled)
		s.settle(one)
		s.waiting(w)
		s.held(two, name)
		if err := third.Check(); err != nil {
			s.Errorf("the third hold after an unlock of another: %v", err)
		}
		s.want(lock.Unlock(s.ctx), holdfast.ErrNotHeld)
	}
	s.settle(one)
	s.waiting(w)
	s.unlock(third)
	lock := s.granted(w)
	if lock.Token() <= first.Token() {
		s.Errorf("token %v was granted after token %v", lock.Token(), first.Token())
	}
	s.unlock(lock)
	again := s.lock(one, name, me)
	if again.Token() <= lock.Token() {
		s.Errorf("a new grant to the owner has token %v after token %v", again.Token(), lock.Token())
	}
	s.unlock(again)
}

// reentryPassesQueue lets the owner reenter although others wait, because they wait for the owner.
func (s *stage) reentryPassesQueue() {
	one, two := s.locker(), s.locker()
	name, me := s.name(), holdfast.Owner("me")
	first := s.lock(one, name, me)
	w := s.queue(two, name)
	second := s.lock(one, name, me)
	s.unlock(first, second)
	s.unlock(s.granted(w))
	if s.caps.NoShared {
		return
	}
	reader := s.lock(one, name, me, holdfast.Shared())
	w = s.queue(two, name)
	again := s.lock(one, name, me, holdfast.Shared())
	s.waiting(w)
	s.unlock(reader, again)
	s.unlock(s.granted(w))
}

// reentryInModes checks for a conflict if the owner requests a name it holds in another mode or with other units: it
// would wait for itself forever.
func (s *stage) reentryInModes() {
	locks := s.locker()
	me := holdfast.Owner("me")
	for _, held := range s.wanted() {
		for _, wanted := range s.wanted() {
			name := s.name(held.name, wanted.name)
			first := s.lock(locks, name, append([]holdfast.Option{me}, held.options...)...)
			second, err := locks.Lock(s.ctx, name, append([]holdfast.Option{me}, wanted.options...)...)
			switch {
			case held.name != wanted.name:
				s.refused(second, err, holdfast.ErrConflict)
			case err != nil:
				s.Errorf("reentry as %s: %v", held.name, err)
			case second.Token() != first.Token():
				s.Errorf("reentry as %s gave token %v, want %v", held.name, second.Token(), first.Token())
			}
			if second != nil {
				s.unlock(second)
			}
			if err := first.Check(); err != nil {
				s.Errorf("the lock after its owner asked again: %v", err)
			}
			s.unlock(first)
			s.free(name)
		}
	}
}

// ownerIsOfItsSession checks that the same owner id in another session is another owner, and that a request without an
// owner shares none.
func (s *stage) ownerIsOfItsSession() {
	one, two := s.locker(), s.locker()
	name := s.name()
	lock := s.lock(one, name, holdfast.Owner("me"))
	s.held(two, name, holdfast.Owner("me"))
	s.held(one, name, holdfast.Owner("you"))
	s.held(one, name)
	s.unlock(lock)
	s.free(name)

	anonymous := s.lock(one, name)
	s.held(one, name)
	s.held(one, name, holdfast.Owner("me"))
	s.unlock(anonymous)
	s.free(name)
}

// reentryNotOffered checks that a second lock of the owner is refused.
func (s *stage) reentryNotOffered() {
	locks := s.locker()
	name, me := s.name(), holdfast.Owner("me")
	lock, err := locks.Lock(s.ctx, name, me)
	if err != nil {
		s.want(err, holdfast.ErrUnsupported)
		return
	}
	second, err := locks.TryLock(s.ctx, name, me)
	if err == nil {
		s.Errorf("a second lock was granted to the owner")
		s.unlock(second)
	}
	s.unlock(lock)
}
