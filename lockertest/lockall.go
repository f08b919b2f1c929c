package lockertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func lockAllChecks() []check {
	return []check{
		{name: "lock_all", run: (*stage).lockAll},
		{name: "lock_all_asks_in_order", run: (*stage).lockAllLocksInOrder},
		{name: "lock_all_without_deadlock", run: (*stage).lockAllWithoutDeadlock},
		{name: "lock_all_or_none", run: (*stage).lockAllOrNone},
		{name: "lock_all_of_an_owner", need: needReentry, run: (*stage).lockAllOfOwner},
	}
}

// lockAll checks that the locks come in the order of the names, each like one from Lock.
func (s *stage) lockAll() {
	one, two := s.locker(), s.locker()
	names := []string{s.name("m"), s.name("z"), s.name("a"), s.name("k")}
	requested := slices.Clone(names)
	locks, err := one.LockAll(s.ctx, names)
	if err != nil || len(locks) != len(names) {
		s.Fatalf("LockAll of %d free names: %d locks, error %v", len(names), len(locks), err)
	}
	if !slices.Equal(names, requested) {
		s.Errorf("LockAll changed the caller's list from %q to %q", requested, names)
	}
	for i, lock := range locks {
		if lock.Name() != requested[i] {
			s.Errorf("lock %d is of %q, want %q", i, lock.Name(), requested[i])
		}
		s.held(two, requested[i])
		if err := lock.Check(); err != nil {
			s.Errorf("Check of %q: %v", requested[i], err)
		}
	}
	s.unlock(locks...)
	s.free(names...)

	for _, none := range [][]string{nil, {}} {
		locks, err := one.LockAll(s.ctx, none)
		if err != nil || len(locks) != 0 {
			s.Errorf("LockAll of no names: %d locks, error %v; want neither", len(locks), err)
		}
	}
}

// lockAllLocksInOrder holds the first of two names. A LockAll of both, listed in reverse, waits for it without holding
// the second.
func (s *stage) lockAllLocksInOrder() {
	one, two := s.locker(), s.locker()
	first, second := s.name("a"), s.name("b")
	held := s.lock(one, first)
	w := s.queueAll(s.ctx, two, []string{second, first})
	other := s.lock(one, second)
	s.waiting(w)
	s.unlock(held, other)
	got := s.outcome(w)
	if got.err != nil {
		s.Fatalf("LockAll: %v", got.err)
	}
	s.unlock(got.locks...)
	s.free(first, second)
}

// queueAll calls LockAll and returns when one of its requests waits.
func (s *stage) queueAll(ctx context.Context, locks holdfast.Locker, names []string, options ...holdfast.Option) *waiter {
	s.Helper()
	return s.wait(fmt.Sprint(names), func(queued holdfast.Option) outcome {
		all, err := locks.LockAll(ctx, names, append(options[:len(options):len(options)], queued)...)
		return outcome{all, err}
	})
}

// lockAllWithoutDeadlock has many goroutines take overlapping sets of names in opposite orders, and checks that each
// has its names exclusively.
func (s *stage) lockAllWithoutDeadlock() {
	const rounds, places = 8, 5
	goroutines := min(48, 2*s.caps.Rounds)
	sessions := s.lockers(3)
	var inside [places]atomic.Int32
	s.each(goroutines, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 2))
		for range rounds {
			chosen := random.Perm(places)[:2+random.IntN(places-1)]
			var names []string
			for _, at := range chosen {
				names = append(names, s.name(at))
			}
			locks, err := sessions[i%len(sessions)].LockAll(s.ctx, names)
			if err != nil {
				return fmt.Errorf("take %d names: %w", len(names), err)
			}
			for _, at := range chosen {
				if n := inside[at].Add(1); n != 1 {
					s.Errorf("%d are inside a name of LockAll", n)
				}
			}
			runtime.Gosched()
			for j, at := range chosen {
				inside[at].Add(-1)
				if err := locks[j].Unlock(s.ctx); err != nil {
					return fmt.Errorf("release one of several names: %w", err)
				}
			}
		}
		return nil
	})
}

// tooShort is a wait limit for several names of which the last is held: long enough for busy members to answer about
// the others.
const tooShort = time.Second

// lockAllOrNone makes LockAll fail in every possible way, and checks that nothing stays held: neither the names it had
// nor those it waited for.
func (s *stage) lockAllOrNone() {
	one, two := s.locker(), s.locker()
	names := []string{s.name("a"), s.name("b"), s.name("c")}
	held := s.lock(one, names[2])
	none := func(locks []*holdfast.Lock, err, target error) {
		s.Helper()
		s.want(err, target)
		if len(locks) != 0 {
			s.Errorf("%d locks came with the error %v", len(locks), err)
		}
		s.free(names[0], names[1])
	}

	ctx, cancel := context.WithCancel(s.ctx)
	w := s.queueAll(ctx, two, names)
	cancel()
	got := s.outcome(w)
	none(got.locks, got.err, context.Canceled)
	locks, err := two.LockAll(ctx, names)
	none(locks, err, context.Canceled)
	for {
		locks, err = two.LockAll(s.ctx, names, holdfast.Wait(tooShort))
		if !errors.Is(err, holdfast.ErrUnavailable) || s.ctx.Err() != nil {
			break
		}
		none(locks, err, holdfast.ErrUnavailable) // overloaded members decide nothing in that time
	}
	none(locks, err, holdfast.ErrHeld)
	locks, err = two.LockAll(s.ctx, []string{names[0], names[1], names[0]})
	none(locks, err, holdfast.ErrConflict)
	locks, err = two.LockAll(s.ctx, []string{names[0], "", names[1]})
	none(locks, err, holdfast.ErrName)
	locks, err = two.LockAll(s.ctx, names[:2], holdfast.Wait(-1))
	none(locks, err, holdfast.ErrConflict)

	s.unlock(held)
	s.free(names...)
}

// lockAllOfOwner enters names that the owner already holds, and checks that the owner holds nothing more if one of them
// conflicts.
func (s *stage) lockAllOfOwner() {
	one, me := s.locker(), holdfast.Owner("me")
	names := []string{s.name("b"), s.name("a")}
	first, err := one.LockAll(s.ctx, names, me)
	if err != nil {
		s.Fatalf("LockAll: %v", err)
	}
	again, err := one.LockAll(s.ctx, names, me)
	if err != nil {
		s.Fatalf("LockAll by the owner: %v", err)
	}
	for i := range names {
		if first[i].Token() != again[i].Token() {
			s.Errorf("reentry of %q gave token %v, want %v", names[i], again[i].Token(), first[i].Token())
		}
	}
	s.unlock(first...)
	s.settle(one)
	s.held(s.locker(), names[0])
	if !s.caps.NoShared {
		extra := s.name("0")
		locks, err := one.LockAll(s.ctx, []string{names[0], extra}, me, holdfast.Shared())
		s.want(err, holdfast.ErrConflict)
		if len(locks) != 0 {
			s.Errorf("%d locks came with the error %v", len(locks), err)
		}
		s.free(extra)
	}
	s.unlock(again...)
	s.free(names...)
}
