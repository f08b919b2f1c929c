package lockertest

import (
	"errors"

	"github.com/holdfast-locks/holdfast"
)

func spaceChecks() []check {
	return []check{
		{name: "default_space", run: (*stage).defaultSpace},
		{name: "unknown_space", run: (*stage).unknownSpace},
		{name: "spaces_are_independent", need: needSpaces, run: (*stage).spacesAreIndependent},
	}
}

// defaultSpace checks that the Locker itself, Space("") and Space(DefaultSpace) are one space and one session.
func (s *stage) defaultSpace() {
	locks, other := s.locker(), s.locker()
	name := s.name()
	views := []holdfast.Locker{locks, locks.Space(""), locks.Space(holdfast.DefaultSpace), locks.Space("").Space("")}
	for _, holder := range views {
		lock := s.lock(holder, name)
		if lock.Space() != holdfast.DefaultSpace {
			s.Errorf("a lock of the default space says %q", lock.Space())
		}
		for _, view := range append(views, other, other.Space("")) {
			s.held(view, name)
		}
		s.unlock(lock)
		s.free(name)
	}
	if s.caps.NoReentry {
		return
	}
	me := holdfast.Owner("me")
	lock := s.lock(locks, name, me)
	again := s.lock(locks.Space(""), name, me)
	if lock.Token() != again.Token() {
		s.Errorf("the owner entered with token %v what it holds with token %v", again.Token(), lock.Token())
	}
	s.unlock(lock, again)
}

// unknownSpace checks that the error names the space, and that the Locker stays usable.
func (s *stage) unknownSpace() {
	locks := s.locker()
	const space = "no-such-space"
	unknown := locks.Space(space)
	lock, err := unknown.Lock(s.ctx, s.name())
	s.refused(lock, err, holdfast.ErrSpace)
	var opErr *holdfast.Error
	if errors.As(err, &opErr) && opErr.Space != space {
		s.Errorf("the error %q names space %q, want %q", err, opErr.Space, space)
	}
	lock, err = unknown.TryLock(s.ctx, s.name())
	s.refused(lock, err, holdfast.ErrSpace)
	all, err := unknown.LockAll(s.ctx, []string{s.name("a"), s.name("b")})
	s.want(err, holdfast.ErrSpace)
	if len(all) != 0 {
		s.Errorf("%d locks came with the error %v", len(all), err)
	}
	for _, malformed := range []string{"a b", "a/b", "\xff", "line\n"} {
		lock, err := locks.Space(malformed).Lock(s.ctx, s.name())
		if !errors.Is(err, holdfast.ErrName) {
			s.refused(lock, err, holdfast.ErrSpace)
		}
	}
	s.unlock(s.lock(locks, s.name()))
}

// spacesAreIndependent takes the same name in every space at the same time.
func (s *stage) spacesAreIndependent() {
	one, two := s.locker(), s.locker()
	name := s.name()
	all := append([]string{holdfast.DefaultSpace}, s.caps.Spaces...)
	held := map[string]*holdfast.Lock{}
	for _, space := range all {
		lock, err := one.Space(space).TryLock(s.ctx, name)
		if err != nil {
			s.Fatalf("TryLock in space %q: %v", space, err)
		}
		if lock.Space() != space || lock.Name() != name {
			s.Errorf("asked for %q in %q, got %q in %q", name, space, lock.Name(), lock.Space())
		}
		held[space] = lock
	}
	for _, space := range all {
		w := s.queue(two.Space(space), name)
		s.unlock(held[space])
		s.unlock(s.passed(held[space], w))
		delete(held, space)
		for other, lock := range held {
			if err := lock.Check(); err != nil {
				s.Errorf("the lock in %q after one in %q was released: %v", other, space, err)
			}
			s.held(two.Space(other), name)
		}
	}
	if lock, err := one.Space(s.caps.Spaces[0]).Space("").TryLock(s.ctx, s.name("back")); err != nil {
		s.Errorf("TryLock in the default space of another space's Locker: %v", err)
	} else {
		if lock.Space() != holdfast.DefaultSpace {
			s.Errorf("Space(\"\") of another space is %q", lock.Space())
		}
		s.unlock(lock)
	}
	inSpace := s.lock(one.Space(s.caps.Spaces[0]), s.name("closed"))
	w := s.queue(two.Space(s.caps.Spaces[0]), s.name("closed"))
	s.close(one)
	s.unlock(s.passed(inSpace, w))
}
