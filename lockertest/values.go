package lockertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast"
)

func valueChecks() []check {
	return []check{
		{name: "values_of_requests", run: (*stage).valuesOfRequests},
		{name: "values_are_replaced", run: (*stage).valuesAreReplaced},
		{name: "values_end_with_their_locks", run: (*stage).valuesEnd},
		{name: "values_of_ended_locks", run: (*stage).valuesOfEndedLocks},
		{name: "values_of_broken_locks", need: needBreak, run: (*stage).valuesOfBrokenLocks},
		{name: "values_after_a_hold_limit", need: needHold, run: (*stage).valuesAfterHoldLimit},
		{name: "values_out_of_bounds", run: (*stage).valuesOutOfBounds},
		{name: "values_and_reentry", need: needReentry, run: (*stage).valuesAndReentry},
		{name: "values_of_several_holders", need: needShared, run: (*stage).valuesOfSeveralHolders},
		{name: "values_at_once", run: (*stage).valuesAtOnce},
		{name: "values_in_order", need: needValues, run: (*stage).valuesInOrder},
	}
}

func needValues(c Caps) string { return when(c.Values == nil, "no hook to read values") }

// valued checks that a name's holders are shown with these values, in any order. Without a hook to read them it checks
// nothing.
func (s *stage) valued(name string, want ...string) {
	s.Helper()
	if s.caps.Values == nil {
		return
	}
	got := slices.Sorted(slices.Values(s.caps.Values(s.TB, holdfast.DefaultSpace, name)))
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		s.Errorf("%q is shown with the values %.40q, want %.40q", name, got, want)
	}
}

// setValue replaces the value of a lock that must still be held.
func (s *stage) setValue(lock *holdfast.Lock, value string) {
	s.Helper()
	if err := lock.SetValue(s.ctx, value); err != nil {
		s.Errorf("SetValue of %q: %v", lock.Name(), err)
	}
}

// someValues are values as they may be: of several lines, with what a terminal obeys, none, and the longest.
var someValues = []string{"two\nlines\tü 錠", "\x1b[31mred\u202e", "", strings.Repeat("ü", holdfast.MaxValue/2)}

// valuesOfRequests checks that a grant has the value of its request, and each name of LockAll has it.
func (s *stage) valuesOfRequests() {
	one, two := s.locker(), s.locker()
	for i, value := range someValues {
		name := s.name(i)
		lock := s.lock(one, name, holdfast.Value(value))
		s.valued(name, value)
		s.held(two, name, holdfast.Value("of a try"))
		w := s.queue(two, name, holdfast.Value("next"))
		s.valued(name, value)
		s.unlock(lock)
		next := s.granted(w)
		s.valued(name, "next")
		s.unlock(next)
	}
	names := []string{s.name("b"), s.name("a")}
	locks, err := one.LockAll(s.ctx, names, holdfast.Value("of all"))
	if err != nil {
		s.Fatalf("LockAll: %v", err)
	}
	for _, name := range names {
		s.valued(name, "of all")
	}
	s.unlock(locks...)
}

// valuesAreReplaced checks that each value is shown when its call has returned, a repeated one as well.
func (s *stage) valuesAreReplaced() {
	locks := s.locker()
	lock, other := s.lock(locks, s.name("a"), holdfast.Value("first")), s.lock(locks, s.name("b"), holdfast.Value("of b"))
	for _, value := range slices.Concat(someValues, someValues) {
		for range 2 {
			s.setValue(lock, value)
			s.valued(lock.Name(), value)
		}
		s.valued(other.Name(), "of b")
	}
	s.setValue(other, "again")
	s.valued(other.Name(), "again")
	s.unlock(lock, other)
}

// valuesEnd checks that the next grant has no value of the one before it.
func (s *stage) valuesEnd() {
	one, two := s.locker(), s.locker()
	for i, locks := range []holdfast.Locker{one, two, one, one} {
		lock := s.lock(locks, s.name())
		s.valued(s.name(), "")
		s.setValue(lock, "value "+strconv.Itoa(i))
		s.valued(s.name(), "value "+strconv.Itoa(i))
		s.unlock(lock)
	}
	lock := s.lock(one, s.name(), holdfast.Value("new"))
	s.valued(s.name(), "new")
	s.unlock(lock)
}

// valuesOfEndedLocks checks that a lock has no value to set after its Unlock, nor after a Close, and that those of the
// next holder stay.
func (s *stage) valuesOfEndedLocks() {
	one, two := s.locker(), s.locker()
	lock := s.lock(one, s.name("unlock"), holdfast.Value("first"))
	s.unlock(lock)
	next := s.lock(two, s.name("unlock"), holdfast.Value("next"))
	s.want(lock.SetValue(s.ctx, "late"), holdfast.ErrNotHeld)
	s.valued(s.name("unlock"), "next")
	s.unlock(next)

	lock = s.lock(one, s.name("async"), holdfast.Value("first"))
	if err := lock.UnlockAsync(); err != nil {
		s.Errorf("UnlockAsync: %v", err)
	}
	s.want(lock.SetValue(s.ctx, "late"), holdfast.ErrNotHeld)
	s.unlock(s.lock(two, s.name("async")))

	lock = s.lock(one, s.name("close"), holdfast.Value("first"))
	s.close(one)
	next = s.lock(two, s.name("close"), holdfast.Value("next"))
	s.want(lock.SetValue(s.ctx, "late"), holdfast.ErrClosed)
	s.valued(s.name("close"), "next")
	s.unlock(next)
}

// valuesOfBrokenLocks checks that a lock that an operator has broken has no value to set.
func (s *stage) valuesOfBrokenLocks() {
	one, two := s.locker(), s.locker()
	lock := s.lock(one, s.name(), holdfast.Value("first"))
	w := s.queue(two, s.name(), holdfast.Value("next"))
	s.caps.Break(s.TB, holdfast.DefaultSpace, s.name())
	next := s.granted(w)
	err := lock.SetValue(s.ctx, "late")
	s.want(err, holdfast.ErrLost)
	if why := holdfast.Why(err); why != holdfast.Broken {
		s.Errorf("SetValue of a broken lock says %q, want %q", string(why), string(holdfast.Broken))
	}
	s.valued(s.name(), "next")
	s.unlock(next)
}

// valuesAfterHoldLimit checks that a lock whose hold limit has passed has no value to set.
func (s *stage) valuesAfterHoldLimit() {
	one, two := s.locker(), s.locker()
	lock := s.lockBriefly(one, s.name())
	s.ended(lock, holdfast.HoldLimit)
	s.want(lock.SetValue(s.ctx, "late"), holdfast.ErrLost)
	next := s.lock(two, s.name(), holdfast.Value("next"))
	s.want(lock.SetValue(s.ctx, "late"), holdfast.ErrLost)
	s.valued(s.name(), "next")
	s.unlock(next)
}

// valuesOutOfBounds checks that a value that is too long, or no text, is refused, and the one before it stays.
func (s *stage) valuesOutOfBounds() {
	locks := s.locker()
	lock := s.lock(locks, s.name(), holdfast.Value("first"))
	for _, value := range []string{strings.Repeat("x", holdfast.MaxValue+1), "a\x00b", "\xff", "cut\xe2\x82"} {
		s.want(lock.SetValue(s.ctx, value), holdfast.ErrName)
		s.valued(s.name(), "first")
		other, err := locks.Lock(s.ctx, s.name("other"), holdfast.Value(value))
		s.refused(other, err, holdfast.ErrName)
	}
	s.unlock(lock)
	s.free(s.name(), s.name("other"))
}

// valuesAndReentry checks that the locks of one owner have one value: a request that enters leaves it, each of the
// locks replaces it, and it stays until the last one is released.
func (s *stage) valuesAndReentry() {
	locks := s.locker()
	name, me := s.name(), holdfast.Owner("me")
	first := s.lock(locks, name, me, holdfast.Value("first"))
	second := s.lock(locks, name, me, holdfast.Value("of the second"))
	s.one(name, "first")
	s.setValue(second, "third")
	s.one(name, "third")
	s.setValue(first, "fourth")
	s.setValue(second, "fifth")
	s.unlock(first)
	s.settle(locks)
	s.one(name, "fifth")
	s.want(first.SetValue(s.ctx, "late"), holdfast.ErrNotHeld)
	third := s.lock(locks, name, me)
	s.one(name, "fifth")
	s.setValue(third, "sixth")
	s.unlock(third)
	s.settle(locks)
	s.one(name, "sixth")
	s.unlock(second)
	again := s.lock(locks, name, me)
	s.one(name, "")
	s.unlock(again)
}

// one checks the value of a grant. Some implementations show the grant once, and some each lock under it.
func (s *stage) one(name, want string) {
	s.Helper()
	if s.caps.Values == nil {
		return
	}
	got := s.caps.Values(s.TB, holdfast.DefaultSpace, name)
	if len(got) == 0 || slices.ContainsFunc(got, func(value string) bool { return value != want }) {
		s.Errorf("%q is shown with the values %.40q, want %.40q", name, got, want)
	}
}

// valuesOfSeveralHolders checks that holders of one name have a value each.
func (s *stage) valuesOfSeveralHolders() {
	var locks []*holdfast.Lock
	var want []string
	for i, session := range s.lockers(3) {
		want = append(want, fmt.Sprint("value ", i))
		locks = append(locks, s.lock(session, s.name(), holdfast.Shared(), holdfast.Value(want[i])))
	}
	s.valued(s.name(), want...)
	for i, lock := range locks {
		want[i] = fmt.Sprint("next ", i)
		s.setValue(lock, want[i])
		s.valued(s.name(), want...)
	}
	s.unlock(locks[0])
	s.valued(s.name(), want[1:]...)
	s.unlock(locks[1:]...)
}

// valuesAtOnce checks that of calls at the same time each returns, and one of their values stays.
func (s *stage) valuesAtOnce() {
	const goroutines = 12
	rounds := max(1, min(20, s.caps.Rounds/10))
	lock := s.lock(s.locker(), s.name())
	for round := range rounds {
		var values []string
		for i := range goroutines {
			values = append(values, fmt.Sprintf("value %d of round %d", i, round))
		}
		s.each(goroutines, func(i int) error { return lock.SetValue(s.ctx, values[i]) })
		if s.caps.Values == nil {
			continue
		}
		if got := s.caps.Values(s.TB, holdfast.DefaultSpace, s.name()); len(got) != 1 || !slices.Contains(values, got[0]) {
			s.Errorf("%q is shown with the values %.40q, want one of %.40q", s.name(), got, values)
		}
	}
	s.setValue(lock, "last")
	s.valued(s.name(), "last")
	s.unlock(lock)
}

// valuesInOrder reads values while their holder replaces them. None is shown after a later one, nor after the call for
// a later one has returned.
func (s *stage) valuesInOrder() {
	rounds := max(5, min(100, s.caps.Rounds/4))
	lock := s.lock(s.locker(), s.name(), holdfast.Value("0"))
	returned := make(chan int, rounds)
	s.each(2, func(i int) error {
		if i == 0 {
			defer close(returned)
			for n := 1; n <= rounds; n++ {
				if err := lock.SetValue(s.ctx, strconv.Itoa(n)); err != nil {
					return err
				}
				returned <- n
			}
			return nil
		}
		shown := 0
		for least := range returned {
			got := s.caps.Values(s.TB, holdfast.DefaultSpace, s.name())
			if len(got) != 1 {
				return fmt.Errorf("the lock is shown with the values %q", got)
			}
			now, err := strconv.Atoi(got[0])
			if err != nil || now < least || now < shown {
				return fmt.Errorf("the lock is shown with the value %q after SetValue had returned for %d, and after it was shown with %d", got[0], least, shown)
			}
			shown = now
		}
		return nil
	})
	s.unlock(lock)
}
