package lockertest

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func doChecks() []check {
	return []check{
		{name: "do_holds_the_lock", run: (*stage).doHoldsTheLock},
		{name: "do_excludes", run: (*stage).doExcludes},
		{name: "do_without_a_grant", run: (*stage).doWithoutGrant},
		{name: "do_ends_with_its_caller", run: (*stage).doEndsWithCaller},
		{name: "do_reports_a_loss", need: needBreak, run: (*stage).doReportsLoss},
		{name: "do_reports_a_hold_limit", need: needHold, run: (*stage).doReportsHoldLimit},
		{name: "do_reports_a_close", run: (*stage).doReportsClose},
		{name: "do_unlocks_after_panic", run: (*stage).doUnlocksAfterPanic},
	}
}

var (
	errWork    = errors.New("the work has failed")
	errStopped = errors.New("the caller has stopped")
)

// doHoldsTheLock checks that the function runs under the lock, that its error is returned, and that the name is free
// afterwards, also if the function has unlocked it.
func (s *stage) doHoldsTheLock() {
	one, two := s.locker(), s.locker()
	ctx := context.WithValue(s.ctx, contextKey{}, "carried")
	for _, want := range []error{nil, errWork} {
		var kept context.Context
		err := holdfast.Do(ctx, one, s.name(), func(ctx context.Context, lock *holdfast.Lock) error {
			kept = ctx
			s.held(two, s.name())
			if ctx.Err() != nil || lock.Check() != nil || lock.Name() != s.name() || ctx.Value(contextKey{}) != "carried" {
				s.Errorf("the lock on %q says %v, its context %v with value %v", lock.Name(), lock.Check(), ctx.Err(), ctx.Value(contextKey{}))
			}
			return want
		})
		if err != want {
			s.Errorf("Do returns %v, want %v", err, want)
		}
		if kept == nil || kept.Err() == nil {
			s.Error("the context of the function has not ended with Do")
		}
		s.free(s.name())
	}
	if err := holdfast.Do(ctx, one, s.name(), func(ctx context.Context, lock *holdfast.Lock) error {
		return lock.Unlock(ctx)
	}); err != nil {
		s.Errorf("Do of a function that unlocks returns %v", err)
	}
	s.free(s.name())
}

// doExcludes has functions of several sessions count with a plain counter.
func (s *stage) doExcludes() {
	const goroutines, rounds = 12, 5
	sessions := s.lockers(3)
	counter := 0
	s.each(goroutines, func(i int) error {
		for range rounds {
			err := holdfast.Do(s.ctx, sessions[i%len(sessions)], s.name(), func(context.Context, *holdfast.Lock) error {
				counter++
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if counter != goroutines*rounds {
		s.Errorf("the counter says %d, want %d", counter, goroutines*rounds)
	}
}

// doWithoutGrant checks that the function does not run without the lock.
func (s *stage) doWithoutGrant() {
	one, two := s.locker(), s.locker()
	held := s.lock(one, s.name())
	gone, cancel := context.WithCancel(s.ctx)
	cancel()
	for _, tt := range []struct {
		ctx    context.Context
		name   string
		option holdfast.Option
		want   error
	}{
		{s.ctx, s.name(), holdfast.Wait(time.Millisecond), holdfast.ErrHeld},
		{s.ctx, "", holdfast.Reason("none"), holdfast.ErrName},
		{gone, s.name("free"), holdfast.Reason("none"), context.Canceled},
	} {
		err := holdfast.Do(tt.ctx, two, tt.name, func(context.Context, *holdfast.Lock) error {
			s.Errorf("the function runs without the lock on %q", tt.name)
			return nil
		}, tt.option)
		s.want(err, tt.want)
	}
	s.unlock(held)
	s.free(s.name(), s.name("free"))
}

// doEndsWithCaller ends the context of the caller. The function sees its cause, and the name is freed all the same.
func (s *stage) doEndsWithCaller() {
	locks := s.locker()
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	err := holdfast.Do(ctx, locks, s.name(), func(ctx context.Context, lock *holdfast.Lock) error {
		stop(errStopped)
		<-ctx.Done()
		if cause := context.Cause(ctx); cause != errStopped {
			s.Errorf("the context of the function ended with cause %v, want %v", cause, errStopped)
		}
		if err := lock.Check(); err != nil {
			s.Errorf("the lock ended with the context of the caller: %v", err)
		}
		return ctx.Err()
	})
	if err != context.Canceled {
		s.Errorf("Do returns %v, want %v", err, context.Canceled)
	}
	s.free(s.name())
}

// doReportsLoss has an operator break the lock while another session waits for it. The context of the function has
// ended before that session is granted, and Do returns the loss although the function does not.
func (s *stage) doReportsLoss() {
	one, two := s.locker(), s.locker()
	err := holdfast.Do(s.ctx, one, s.name(), func(ctx context.Context, lock *holdfast.Lock) error {
		w := s.queue(two, s.name())
		s.caps.Break(s.TB, holdfast.DefaultSpace, s.name())
		next := s.granted(w)
		select {
		case <-ctx.Done():
		default:
			s.Errorf("%q was granted to another while the context of the function was not done", s.name())
		}
		if cause := context.Cause(ctx); holdfast.Why(cause) != holdfast.Broken {
			s.Errorf("the context of the function ended with cause %v, want %v", cause, holdfast.Broken)
		}
		s.unlock(next)
		return nil
	})
	s.want(err, holdfast.ErrLost)
	if why := holdfast.Why(err); why != holdfast.Broken {
		s.Errorf("Do of a broken lock says %q, want %q", string(why), string(holdfast.Broken))
	}
	s.free(s.name())
}

// doReportsHoldLimit has the function wait for the end of its context: the error says why it has ended, and no more.
func (s *stage) doReportsHoldLimit() {
	locks := s.locker()
	ran := false
	s.briefly(func(hold time.Duration) error {
		err := holdfast.Do(s.ctx, locks, s.name(), func(ctx context.Context, _ *holdfast.Lock) error {
			ran = true
			select {
			case <-ctx.Done():
			case <-s.ctx.Done():
			}
			return ctx.Err()
		}, holdfast.Hold(hold))
		if !ran {
			return err
		}
		s.want(err, holdfast.ErrLost)
		if holdfast.Why(err) != holdfast.HoldLimit || errors.Is(err, context.Canceled) {
			s.Errorf("Do returns %v, want %v alone", err, holdfast.HoldLimit)
		}
		return nil
	})
	s.free(s.name())
}

// doReportsClose closes the Locker in the function.
func (s *stage) doReportsClose() {
	locks := s.locker()
	err := holdfast.Do(s.ctx, locks, s.name(), func(ctx context.Context, _ *holdfast.Lock) error {
		s.close(locks)
		if ctx.Err() == nil {
			s.Error("the context of the function is not done after Close")
		}
		return nil
	})
	s.want(err, holdfast.ErrClosed)
	s.free(s.name())
}

// doUnlocksAfterPanic checks that the panic goes on, and that the name is free.
func (s *stage) doUnlocksAfterPanic() {
	locks := s.locker()
	err := panicOf(func() {
		_ = holdfast.Do(s.ctx, locks, s.name(), func(context.Context, *holdfast.Lock) error { panic(errWork) })
	})
	if err != errWork {
		s.Errorf("the panic of the function arrives as %v, want %v", err, errWork)
	}
	s.free(s.name())
}
