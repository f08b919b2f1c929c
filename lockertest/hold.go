package lockertest

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func holdChecks() []check {
	return []check{
		{name: "hold_limit_ends_the_lock", need: needHold, run: (*stage).holdLimitEnds},
		{name: "hold_limit_passes_the_lock_on", need: needHold, run: (*stage).holdLimitPassesOn},
		{name: "extend", need: needHold, run: (*stage).extend},
		{name: "until", run: (*stage).until},
	}
}

const shortHold = 50 * time.Millisecond

// briefly calls take with a short hold limit. The limit counts from the grant: on a busy machine it may pass before the
// grant arrives, and the call fails with that. briefly then retries with a longer limit.
func (s *stage) briefly(take func(hold time.Duration) error) {
	s.Helper()
	for hold := shortHold; ; hold *= 2 {
		err := take(hold)
		if err == nil {
			return
		}
		if holdfast.Why(err) != holdfast.HoldLimit || s.ctx.Err() != nil {
			s.Fatalf("with a hold limit of %v: %v", hold, err)
		}
	}
}

// lockBriefly takes a name with a short hold limit.
func (s *stage) lockBriefly(locks holdfast.Locker, name string) (lock *holdfast.Lock) {
	s.Helper()
	s.briefly(func(hold time.Duration) (err error) {
		lock, err = locks.Lock(s.ctx, name, holdfast.Hold(hold))
		return err
	})
	return lock
}

// lockSeen takes a name with a hold limit that an observer does not miss: one that only looks from time to time.
func (s *stage) lockSeen(locks holdfast.Locker) *holdfast.Lock {
	s.Helper()
	if s.caps.ObserveMerges {
		return s.lock(locks, s.name(), holdfast.Hold(2*time.Second))
	}
	return s.lockBriefly(locks, s.name())
}

// holdLimitEnds checks that a Context is done when the hold limit has passed, without a call and without waiters, and
// that all methods report it afterwards.
func (s *stage) holdLimitEnds() {
	locks := s.locker()
	name := s.name()
	lock := s.lockBriefly(locks, name)
	child, cancel := context.WithCancel(lock.Context())
	defer cancel()
	select {
	case <-child.Done():
	case <-s.ctx.Done():
		s.Fatalf("the hold limit has not ended the lock: %v", s.ctx.Err())
	}
	s.lost(lock, holdfast.HoldLimit)
	if cause := context.Cause(child); holdfast.Why(cause) != holdfast.HoldLimit {
		s.Errorf("a child of the Context ended with cause %v, want %v", cause, holdfast.HoldLimit)
	}
	s.free(name)
}

// lost checks that the lock has ended and every method returns the reason. An empty why accepts any reason.
func (s *stage) lost(lock *holdfast.Lock, why holdfast.Loss) {
	s.Helper()
	s.ended(lock, holdfast.ErrLost)
	for _, call := range []struct {
		method string
		err    error
	}{
		{"Check", lock.Check()},
		{"Extend", lock.Extend(s.ctx, time.Hour)},
		{"Unlock", lock.Unlock(s.ctx)},
		{"a second Unlock", lock.Unlock(s.ctx)},
		{"context.Cause", context.Cause(lock.Context())},
		{"Check after Unlock", lock.Check()},
	} {
		if !errors.Is(call.err, holdfast.ErrLost) {
			s.Errorf("%s of a lost lock: got %v, want %v", call.method, call.err, holdfast.ErrLost)
		} else if got := holdfast.Why(call.err); got == "" || why != "" && got != why {
			s.Errorf("%s of a lost lock says %q, want %q", call.method, string(got), string(why))
		}
	}
}

// passed checks that the waiter is granted, that the lock before it has ended by then (P3), and that the register
// refuses a late write under the old token.
func (s *stage) passed(before *holdfast.Lock, w *waiter) *holdfast.Lock {
	s.Helper()
	lock := s.granted(w)
	if before.Context().Err() == nil {
		s.Errorf("%q was granted to another while the Context of its holder was not done", lock.Name())
	}
	if lock.Token() <= before.Token() {
		s.Errorf("token %v of %q was granted after token %v", lock.Token(), lock.Name(), before.Token())
	}
	var fenced register
	if !fenced.write(lock.Token()) || fenced.write(before.Token()) || fenced.stale != 1 {
		s.Errorf("a late write under token %v passes as one under token %v", before.Token(), lock.Token())
	}
	return lock
}

// chainHold is the initial hold limit of a chain's holders.
const chainHold = 20 * shortHold

// holdLimitPassesOn has a chain of holders that never unlock, each of which waits for the hold limit of its
// predecessor.
func (s *stage) holdLimitPassesOn() {
	for hold := chainHold; !s.chain(s.name(hold.String()), hold); hold *= 2 {
		if s.ctx.Err() != nil {
			s.Fatalf("with a hold limit of %v: %v", hold, s.ctx.Err())
		}
	}
}

// chain reports whether each holder received its grant within its hold limit, which counts from the grant: on a busy
// machine that may take long.
func (s *stage) chain(name string, hold time.Duration) bool {
	s.Helper()
	one, two := s.locker(), s.locker()
	lock, err := one.Lock(s.ctx, name, holdfast.Hold(hold))
	if err != nil {
		return s.tooShort(name, err)
	}
	for range 3 {
		w := s.maybeQueued(two, name, holdfast.Hold(hold))
		got := s.outcome(w)
		if got.err != nil {
			return s.tooShort(name, got.err)
		}
		w.result <- got
		next := s.passed(lock, w)
		s.lost(lock, holdfast.HoldLimit)
		lock, one, two = next, two, one
	}
	s.lost(lock, holdfast.HoldLimit)
	s.free(name)
	return true
}

// tooShort checks that the error says that a hold limit passed before its holder had the grant, and returns false.
func (s *stage) tooShort(name string, err error) bool {
	s.Helper()
	if holdfast.Why(err) != holdfast.HoldLimit {
		s.Fatalf("a request that waited for %q should be granted, got: %v", name, err)
	}
	return false
}

// extend moves the end of a hold limit. Another lock, taken later with the same limit or a longer one, ends: this shows
// that the extended lock has outlived its first limit.
func (s *stage) extend() {
	locks := s.locker()
	var lock, witness *holdfast.Lock
	s.briefly(func(hold time.Duration) (err error) {
		if lock, err = locks.Lock(s.ctx, s.name("longer"), holdfast.Hold(hold)); err != nil {
			return err
		}
		if err = lock.Extend(s.ctx, time.Hour); err != nil {
			return err
		}
		s.briefly(func(longer time.Duration) (err error) {
			witness, err = locks.Lock(s.ctx, s.name("witness"), holdfast.Hold(max(hold, longer)))
			return err
		})
		return nil
	})
	s.ended(witness, holdfast.ErrLost)
	if err := lock.Check(); err != nil {
		s.Errorf("a lock whose hold limit was extended: %v", err)
	}
	s.want(lock.Extend(s.ctx, -1), holdfast.ErrConflict)
	if err := lock.Extend(s.ctx, 0); err != nil {
		s.Errorf("Extend(0), which removes the limit: %v", err)
	}
	// On a slow machine the limit may pass before the answer arrives.
	if err := lock.Extend(s.ctx, shortHold); err != nil && holdfast.Why(err) != holdfast.HoldLimit {
		s.Errorf("Extend to a shorter limit: %v", err)
	}
	s.lost(lock, holdfast.HoldLimit)
	s.free(s.name("longer"), s.name("witness"))
}

// until checks that Until lies between now and the hold limit from now.
func (s *stage) until() {
	locks := s.locker()
	var options []holdfast.Option
	if !s.caps.NoHold {
		options = append(options, holdfast.Hold(time.Hour))
	}
	before := time.Now()
	lock := s.lock(locks, s.name(), options...)
	until := lock.Until()
	switch {
	case until.IsZero() && s.caps.NoHold: // only Unlock ends it
	case !until.After(before):
		s.Errorf("Until of a lock that is held is %v, before it was asked for", until)
	case !s.caps.NoHold && until.After(time.Now().Add(time.Hour)):
		s.Errorf("Until is %v, later than the hold limit of an hour", until)
	}
	s.unlock(lock)
}
