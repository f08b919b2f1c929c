package lockertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func raceChecks() []check {
	return []check{
		{name: "cancel_at_the_moment_of_grant", run: (*stage).cancelAtGrant},
		{name: "wait_limit_at_the_moment_of_grant", run: (*stage).waitLimitAtGrant},
		{name: "close_at_the_moment_of_grant", run: (*stage).closeAtGrant},
	}
}

const racers = 4

// race runs round about Rounds times on a few goroutines, each with a separate name and two sessions.
func (s *stage) race(round func(one, two holdfast.Locker, name string, i int) error) {
	sessions := s.lockers(racers + 1)
	s.each(racers, func(i int) error {
		for n := range max(1, s.caps.Rounds/racers) {
			if err := round(sessions[i], sessions[i+1], s.name(i), n); err != nil {
				return fmt.Errorf("round %d: %w", n, err)
			}
		}
		return nil
	})
	for i := range racers {
		s.free(s.name(i))
	}
}

// cancelAtGrant cancels a waiting request while the holder unlocks. In either order, the caller gets either a lock or
// its context's error, and nothing is stranded: the next round takes the name again (P6).
func (s *stage) cancelAtGrant() {
	s.race(func(one, two holdfast.Locker, name string, i int) error {
		held, err := one.Lock(s.ctx, name)
		if err != nil {
			return fmt.Errorf("take a name that all have left: %w", err)
		}
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		queued := make(chan struct{}, 2)
		var other sync.WaitGroup
		var released error
		other.Go(func() {
			if i%4 == 3 { // the release may come before the request
				released = held.Unlock(s.ctx)
			}
			select {
			case <-queued:
			case <-s.ctx.Done():
			}
			switch i % 4 {
			case 0: // the waiter has not yet run when both have happened
				cancel()
				released = held.Unlock(s.ctx)
			case 1:
				released = held.Unlock(s.ctx)
				cancel()
			case 2:
				other.Go(cancel)
				released = held.Unlock(s.ctx)
			case 3:
				cancel()
			}
		})
		lock, err := two.Lock(ctx, name, holdfast.OnQueued(func(int) { queued <- struct{}{} }))
		queued <- struct{}{} // it may have been answered without a wait
		other.Wait()
		return orNothing(s.ctx, lock, err, isCanceled, held, released)
	})
}

// orNothing checks that a call returned either a lock, which it then releases, or only an error of the expected kind.
func orNothing(ctx context.Context, lock *holdfast.Lock, err error, expected func(error) bool, before *holdfast.Lock, released error) error {
	switch {
	case released != nil:
		return fmt.Errorf("release what is held: %w", released)
	case err != nil && lock != nil:
		return fmt.Errorf("a lock came with the error %w", err)
	case err != nil && !expected(err):
		return fmt.Errorf("give up a wait: %w", err)
	case err != nil:
		return nil
	case lock.Token() <= before.Token():
		return fmt.Errorf("token %v was granted after token %v", lock.Token(), before.Token())
	}
	return lock.Unlock(ctx)
}

// waitLimitAtGrant is the same for a wait limit. A wait ends within half a second of its limit: on a machine that is
// otherwise busy for longer, the Locker ends the wait itself, with ErrUnavailable, but not for most waits.
func (s *stage) waitLimitAtGrant() {
	var explained, unexplained atomic.Int64
	expected := func(err error) bool {
		if errors.Is(err, holdfast.ErrUnavailable) {
			unexplained.Add(1)
			return true
		}
		explained.Add(1)
		return isHeld(err)
	}
	s.race(func(one, two holdfast.Locker, name string, i int) error {
		held, err := one.Lock(s.ctx, name)
		if err != nil {
			return fmt.Errorf("take a name that all have left: %w", err)
		}
		var other sync.WaitGroup
		var released error
		queued := make(chan struct{}, 2)
		limit := time.Duration(1+i%100) * time.Microsecond
		other.Go(func() {
			select {
			case <-queued:
			case <-s.ctx.Done():
			}
			// Aim around the moment at which the waiter learns that its limit has passed, which is some time later. No
			// check depends on hitting it.
			aim := limit + time.Duration(i/4%50)*3*time.Microsecond
			for from := time.Now(); i%4 != 0 && time.Since(from) < aim; {
			}
			released = held.Unlock(s.ctx)
		})
		lock, err := two.Lock(s.ctx, name, holdfast.Wait(limit), holdfast.OnQueued(func(int) { queued <- struct{}{} }))
		queued <- struct{}{}
		other.Wait()
		return orNothing(s.ctx, lock, err, expected, held, released)
	})
	if explained, unexplained := explained.Load(), unexplained.Load(); unexplained > explained+racers {
		s.Errorf("%d waits ended at their limits without a word of who decides, %d with one", unexplained, explained)
	}
}

// closeAtGrant closes a Locker while the name it waits for is released. It gets the lock, which Close then releases, or
// ErrClosed; the name is free either way.
func (s *stage) closeAtGrant() {
	one := s.locker()
	name := s.name()
	for range min(s.caps.Rounds, 40) {
		held := s.lock(one, name)
		two := s.locker()
		w := s.queue(two, name)
		s.each(2, func(i int) error {
			if i == 0 {
				return held.Unlock(s.ctx)
			}
			return closeWithin(s.ctx, two)
		})
		got := s.outcome(w)
		if got.err != nil {
			s.want(got.err, holdfast.ErrClosed)
		} else if got.locks[0].Check() == nil {
			s.Errorf("a lock on %q is held after its Locker was closed", name)
		}
	}
	s.free(name)
}
