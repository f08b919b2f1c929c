package lockertest

import (
	"errors"

	"github.com/holdfast-locks/holdfast"
)

func deadlockChecks() []check {
	return []check{
		{name: "deadlock_is_refused", need: needDeadlock, run: (*stage).deadlockIsRefused},
		{name: "deadlock_of_three", need: needDeadlock, run: (*stage).deadlockOfThree},
		{name: "deadlock_of_a_waiter", need: needDeadlock, run: (*stage).deadlockOfAWaiter},
		{name: "deadlock_of_owners", need: needs(needDeadlock, needReentry), run: (*stage).deadlockOfOwners},
		{name: "deadlock_behind_a_waiter", need: needs(needDeadlock, needShared, needFIFO), run: (*stage).deadlockBehindAWaiter},
		{name: "deadlock_without_a_cycle", need: needOption, run: (*stage).deadlockWithoutCycle},
		{name: "deadlock_not_offered", run: (*stage).deadlockNotOffered},
	}
}

// needOption is for what needs no cycle to be found.
func needOption(c Caps) string { return when(c.NoDeadlock, "deadlocks are not found") }

// deadlocked checks that an error is a deadlock, with the names that its owners wait for.
func (s *stage) deadlocked(err error, names ...string) {
	s.Helper()
	s.want(err, holdfast.ErrDeadlock)
	var cycle *holdfast.DeadlockError
	if !errors.As(err, &cycle) {
		s.Errorf("%v: it has no cycle", err)
		return
	}
	if len(cycle.Cycle) != len(names) {
		s.Errorf("%v: it has %d steps, want %d", err, len(cycle.Cycle), len(names))
		return
	}
	for i, name := range names {
		if cycle.Cycle[i].Name != name {
			s.Errorf("%v: step %d waits for %q, want %q", err, i, cycle.Cycle[i].Name, name)
		}
	}
}

// deadlockIsRefused checks that the request that closes a cycle of two is refused, and that the other one is granted when
// its client gives way.
func (s *stage) deadlockIsRefused() {
	one, two := s.locker(), s.locker()
	a, b := s.name("a"), s.name("b")
	first, second := s.lock(one, a), s.lock(two, b)
	w := s.queue(one, b)
	lock, err := two.Lock(s.ctx, a, holdfast.Deadlock(holdfast.Fail))
	s.refused(lock, err, holdfast.ErrDeadlock)
	s.deadlocked(err, a, b)
	s.waiting(w)
	s.unlock(second)
	s.unlock(s.granted(w), first)
	s.free(a, b)
}

// deadlockOfThree checks that a cycle of three is found, too.
func (s *stage) deadlockOfThree() {
	all := s.lockers(3)
	names := []string{s.name("a"), s.name("b"), s.name("c")}
	var locks []*holdfast.Lock
	for i, name := range names {
		locks = append(locks, s.lock(all[i], name))
	}
	one := s.queue(all[0], names[1], holdfast.Deadlock(holdfast.Fail))
	two := s.queue(all[1], names[2])
	lock, err := all[2].Lock(s.ctx, names[0], holdfast.Deadlock(holdfast.Fail))
	s.refused(lock, err, holdfast.ErrDeadlock)
	s.deadlocked(err, names[0], names[1], names[2])
	s.unlock(locks[2])
	s.unlock(s.granted(two), locks[1])
	s.unlock(s.granted(one), locks[0])
}

// deadlockOfAWaiter checks that a request that waits is refused when another one, which waits regardless, closes a cycle.
func (s *stage) deadlockOfAWaiter() {
	one, two := s.locker(), s.locker()
	a, b := s.name("a"), s.name("b")
	first, second := s.lock(one, a), s.lock(two, b)
	willing := s.queue(one, b, holdfast.Deadlock(holdfast.Fail))
	w := s.queue(two, a)
	s.deadlocked(s.outcome(willing).err, b, a)
	s.unlock(first)
	s.unlock(s.granted(w), second)
}

// deadlockOfOwners checks that two owners of one Locker are found in a cycle, and that a third one is not.
func (s *stage) deadlockOfOwners() {
	locks := s.locker()
	a, b := s.name("a"), s.name("b")
	first, second := s.lock(locks, a, holdfast.Owner("x")), s.lock(locks, b, holdfast.Owner("y"))
	w := s.queue(locks, b, holdfast.Owner("x"))
	third := s.queue(locks, a, holdfast.Owner("z"), holdfast.Deadlock(holdfast.Fail))
	lock, err := locks.Lock(s.ctx, a, holdfast.Owner("y"), holdfast.Deadlock(holdfast.Fail))
	s.refused(lock, err, holdfast.ErrDeadlock)
	s.deadlocked(err, a, b)
	s.unlock(second)
	s.unlock(s.granted(w), first)
	s.unlock(s.granted(third))
}

// deadlockBehindAWaiter checks that a shared request counts as waiting for the exclusive one ahead of it.
func (s *stage) deadlockBehindAWaiter() {
	one, two, three := s.locker(), s.locker(), s.locker()
	a, b := s.name("a"), s.name("b")
	reader, second := s.lock(one, a, holdfast.Shared()), s.lock(two, b)
	writer := s.queue(three, a)
	w := s.queue(three, b)
	lock, err := two.Lock(s.ctx, a, holdfast.Shared(), holdfast.Deadlock(holdfast.Fail))
	s.refused(lock, err, holdfast.ErrDeadlock)
	s.deadlocked(err, a, b)
	s.unlock(reader, second)
	s.unlock(s.granted(writer), s.granted(w))
}

// deadlockWithoutCycle checks that requests with the option wait where no cycle is: behind one another, and for two
// holders that wait for the same.
func (s *stage) deadlockWithoutCycle() {
	all := s.lockers(3)
	a, b, c := s.name("a"), s.name("b"), s.name("c")
	fail := holdfast.Deadlock(holdfast.Fail)
	first, second, third := s.lock(all[0], a, fail), s.lock(all[1], b, fail), s.lock(all[2], c, fail)
	two := s.queue(all[1], a, fail)
	three := s.queue(all[2], a, fail)
	also := s.queue(all[2], b, fail)
	s.held(all[1], c, fail)
	s.unlock(first)
	s.unlock(s.granted(two), second)
	s.unlock(s.granted(three), s.granted(also), third)
	s.free(a, b, c)
}

// deadlockNotOffered checks that the option is refused where deadlocks are not found, and not ignored.
func (s *stage) deadlockNotOffered() {
	locks := s.locker()
	if s.caps.NoDeadlock {
		for _, call := range []func() (*holdfast.Lock, error){
			func() (*holdfast.Lock, error) {
				return locks.Lock(s.ctx, s.name(), holdfast.Deadlock(holdfast.Fail))
			},
			func() (*holdfast.Lock, error) {
				return locks.TryLock(s.ctx, s.name(), holdfast.Deadlock(holdfast.Fail))
			},
		} {
			lock, err := call()
			s.refused(lock, err, holdfast.ErrUnsupported)
		}
	}
	s.unlock(s.lock(locks, s.name(), holdfast.Deadlock(holdfast.Ignore)))
	lock, err := locks.Lock(s.ctx, s.name(), holdfast.Deadlock(holdfast.Fail+1))
	s.refused(lock, err, holdfast.ErrConflict)
	s.free(s.name())
}
