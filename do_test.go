package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// grants is a Locker that grants one lock.
type grants struct {
	holdfast.Locker
	lock *holdfast.Lock
	err  error
	ctx  context.Context
	name string
	n    int // of options
}

func (g *grants) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	g.ctx, g.name, g.n = ctx, name, len(o)
	if g.err != nil {
		return nil, g.err
	}
	return g.lock, nil
}

// releasing is a session whose answer to a release is a function.
type releasing struct {
	*backing
	answer func(ctx context.Context) error
}

func (r releasing) UnlockLock(ctx context.Context, _ *holdfast.Lock) error {
	r.unlocks.Add(1)
	return r.answer(ctx)
}

// granting returns a Locker whose lock's release has the given result, and the session.
func granting(unlocked error) (*grants, *backing) {
	b := newBacking(2 * time.Hour)
	session := releasing{b, func(context.Context) error { return unlocked }}
	return &grants{lock: holdfast.NewLock(someGrant, 77, holdfast.Forever, session, context.Background())}, b
}

func expire(b *backing) { b.now.Store(int64(2 * time.Hour)) }

var (
	errWork     = errors.New("disk full")
	errReleased = &holdfast.Error{Op: "unlock", Name: "orders/42", Err: holdfast.ErrDenied}
	errStop     = errors.New("the program stops")
)

const lossText = `lock "orders/42" in space "billing": lost: session expired`

// work is a function under a lock of a session.
type work = func(ctx context.Context, l *holdfast.Lock, b *backing) error

func done(context.Context, *holdfast.Lock, *backing) error { return nil }

func fails(context.Context, *holdfast.Lock, *backing) error { return errWork }

// lost is work during which the session expires.
func lost(returns func(ctx context.Context, l *holdfast.Lock) error) work {
	return func(ctx context.Context, l *holdfast.Lock, b *backing) error {
		expire(b)
		return returns(ctx, l)
	}
}

// unlocks is work that unlocks, and returns err.
func unlocks(err error) work {
	return func(ctx context.Context, l *holdfast.Lock, _ *backing) error {
		if failed := l.Unlock(ctx); failed != nil {
			return failed
		}
		return err
	}
}

// outcomes are the ways in which the function, the lock and the release end.
var outcomes = map[string]struct {
	f        work
	unlocked error
	want     string
	is       []error
	not      []error
	releases int32
}{
	"done":   {f: done, releases: 1},
	"failed": {f: fails, want: "disk full", is: []error{errWork}, releases: 1},
	"done, not released": {
		f: done, unlocked: errReleased, want: `unlock "orders/42": denied`, is: []error{holdfast.ErrDenied}, releases: 1,
	},
	"failed, not released": {
		f: fails, unlocked: errReleased, want: `disk full; and unlock "orders/42": denied`, is: []error{errWork, holdfast.ErrDenied}, releases: 1,
	},
	"done, lost": {
		f: lost(func(context.Context, *holdfast.Lock) error { return nil }), want: lossText, is: []error{holdfast.ErrLost},
	},
	"failed, lost": {
		f:    lost(func(context.Context, *holdfast.Lock) error { return errWork }),
		want: "disk full; and " + lossText, is: []error{holdfast.ErrLost, errWork},
	},
	"the context's error, lost": {
		f: lost(func(ctx context.Context, _ *holdfast.Lock) error { return ctx.Err() }), want: lossText,
		is: []error{holdfast.ErrLost}, not: []error{context.Canceled},
	},
	"the context's cause, lost": {
		f: lost(func(ctx context.Context, _ *holdfast.Lock) error { return context.Cause(ctx) }), want: lossText, is: []error{holdfast.ErrLost},
	},
	"the lock's error, lost": {
		f:    lost(func(_ context.Context, l *holdfast.Lock) error { return fmt.Errorf("row 7: %w", l.Check()) }),
		want: "row 7: " + lossText, is: []error{holdfast.ErrLost},
	},
	"the context's error with a place, lost": {
		f:    lost(func(ctx context.Context, _ *holdfast.Lock) error { return fmt.Errorf("row 7: %w", ctx.Err()) }),
		want: "row 7: context canceled; and " + lossText, is: []error{holdfast.ErrLost, context.Canceled},
	},
	"another lock's loss, lost": {
		f: lost(func(context.Context, *holdfast.Lock) error {
			return &holdfast.Error{Op: "lock", Name: "other", Err: holdfast.Broken}
		}),
		want: `lock "other": lost: broken; and ` + lossText, is: []error{holdfast.ErrLost, holdfast.Broken, holdfast.SessionExpired},
	},
	"unlocked by the function":             {f: unlocks(nil), releases: 1},
	"unlocked by the function that failed": {f: unlocks(errWork), want: "disk full", releases: 1},
	"unlocked by the function, refused": {
		f: unlocks(nil), unlocked: errReleased, want: errReleased.Error(), is: []error{holdfast.ErrDenied}, releases: 1,
	},
	"unlocked by the function, which returns its context's error": {
		f: func(ctx context.Context, l *holdfast.Lock, _ *backing) error {
			return errors.Join(l.UnlockAsync(), ctx.Err())
		},
		want: "context canceled", is: []error{context.Canceled}, not: []error{holdfast.ErrNotHeld},
	},
	"lost when the function unlocks": {f: func(ctx context.Context, l *holdfast.Lock, b *backing) error {
		expire(b)
		return l.Unlock(ctx)
	}, want: lossText, is: []error{holdfast.ErrLost}},
	"the Locker is closed": {
		f: func(ctx context.Context, l *holdfast.Lock, _ *backing) error {
			l.End(holdfast.ErrClosed)
			return ctx.Err()
		},
		want: `lock "orders/42" in space "billing": closed`, is: []error{holdfast.ErrClosed}, not: []error{context.Canceled},
	},
	"lost before the release is accepted": {
		f: fails, unlocked: &holdfast.Error{Op: "unlock", Name: "orders/42", Err: holdfast.SessionExpired},
		want: `disk full; and unlock "orders/42": lost: session expired`, is: []error{errWork, holdfast.ErrLost}, releases: 1,
	},
}

// TestDo has the function, the lock and the release end in all combinations.
func TestDo(t *testing.T) {
	for name, tt := range outcomes {
		t.Run(name, func(t *testing.T) {
			locks, b := granting(tt.unlocked)
			err := holdfast.Do(t.Context(), locks, "orders/42", func(ctx context.Context, l *holdfast.Lock) error {
				if l != locks.lock || ctx.Err() != nil {
					t.Errorf("the function has lock %v, and a context with error %v", l, ctx.Err())
				}
				return tt.f(ctx, l, b)
			})
			if text := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && text != tt.want {
				t.Errorf("Do returns\n%v, want\n%s", text, tt.want)
			}
			for _, target := range tt.is {
				if !errors.Is(err, target) {
					t.Errorf("%v is no %v", err, target)
				}
			}
			for _, target := range tt.not {
				if errors.Is(err, target) {
					t.Errorf("%v is a %v", err, target)
				}
			}
			if n := b.unlocks.Load(); n != tt.releases {
				t.Errorf("the session was asked %d times to unlock, want %d", n, tt.releases)
			}
			if err := locks.lock.Check(); err == nil {
				t.Error("the lock is held after Do")
			}
		})
	}
}

// TestDoPassesOn checks what Lock gets of the caller, and that its error is returned as it is.
func TestDoPassesOn(t *testing.T) {
	ctx := context.WithValue(t.Context(), valueKey{}, "carried")
	refused := &holdfast.Error{Op: "lock", Name: "orders/42", Err: &holdfast.HeldError{Owner: "job-7"}}
	locks := &grants{err: refused}
	err := holdfast.Do(ctx, locks, "orders/42", func(context.Context, *holdfast.Lock) error {
		t.Error("the function runs without the lock")
		return nil
	}, holdfast.Shared(), holdfast.Wait(time.Second))
	if err != error(refused) {
		t.Errorf("Do returns %v, want the error of Lock", err)
	}
	if locks.ctx != ctx || locks.name != "orders/42" || locks.n != 2 {
		t.Errorf("Lock was called for %q with %d options, and a context of its own: %v", locks.name, locks.n, locks.ctx != ctx)
	}
}

// TestDoContextOfTheCaller ends the caller's context, by hand and at its deadline, before the lock.
func TestDoContextOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := time.Now().Add(time.Minute)
		values := context.WithValue(t.Context(), valueKey{}, "carried")
		stopped, stop := context.WithCancelCause(values)
		defer stop(nil)
		late, cancel := context.WithDeadlineCause(values, limit, errStop)
		defer cancel()
		for _, tt := range []struct {
			ctx context.Context
			end func()
			err error
		}{
			{stopped, func() { stop(errStop) }, context.Canceled},
			{late, func() { time.Sleep(time.Minute) }, context.DeadlineExceeded}, //nolint:forbidigo // inside a synctest bubble
		} {
			locks, b := granting(nil)
			var releaseErr error
			session := releasing{b, func(ctx context.Context) error {
				left, bounded := ctx.Deadline()
				if !bounded || time.Until(left) != holdfast.UnlockWait || ctx.Value(valueKey{}) != "carried" {
					t.Errorf("the release has until %v (%t), with value %v", left, bounded, ctx.Value(valueKey{}))
				}
				releaseErr = ctx.Err()
				return nil
			}}
			locks.lock = holdfast.NewLock(someGrant, 77, holdfast.Forever, session, tt.ctx)
			err := holdfast.Do(tt.ctx, locks, "orders/42", func(ctx context.Context, l *holdfast.Lock) error {
				want, wanted := tt.ctx.Deadline()
				if got, bounded := ctx.Deadline(); got != want || bounded != wanted || ctx.Value(valueKey{}) != "carried" {
					t.Errorf("the deadline is %v (%t), the value %v", got, bounded, ctx.Value(valueKey{}))
				}
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				tt.end()
				synctest.Wait()
				expire(b) // the lock is lost later, so that is not the cause
				for _, ended := range []context.Context{ctx, child} {
					if ended.Err() != tt.err || context.Cause(ended) != errStop {
						t.Errorf("the context says %v because of %v, want %v because of %v", ended.Err(), context.Cause(ended), tt.err, errStop)
					}
				}
				b.now.Store(int64(time.Hour)) // the next lock is held
				return ctx.Err()
			})
			// The lock was lost as well, after that: its loss is reported with the error of the caller's context.
			if !errors.Is(err, tt.err) || !errors.Is(err, holdfast.SessionExpired) {
				t.Errorf("Do returns %v, want %v and the loss", err, tt.err)
			}
			if b.unlocks.Load() != 0 {
				t.Error("a lost lock was released")
			}
			locks.lock = holdfast.NewLock(someGrant, 78, holdfast.Forever, session, tt.ctx)
			err = holdfast.Do(tt.ctx, locks, "orders/42", func(ctx context.Context, l *holdfast.Lock) error { return ctx.Err() })
			if err != tt.err || b.unlocks.Load() != 1 || releaseErr != nil {
				t.Errorf("Do under a context that has ended returns %v after %d releases with context error %v", err, b.unlocks.Load(), releaseErr)
			}
		}
	})
}

// TestDoContextEndsWithTheLock checks that the context has ended when End returns, and that it reads the clock.
func TestDoContextEndsWithTheLock(t *testing.T) {
	caller, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := map[string]func(*holdfast.Lock, *backing, context.Context){
		"End":   func(l *holdfast.Lock, _ *backing, _ context.Context) { l.End(holdfast.SessionExpired) },
		"Check": func(l *holdfast.Lock, b *backing, _ context.Context) { expire(b); _ = l.Check() },
		"Err":   func(_ *holdfast.Lock, b *backing, ctx context.Context) { expire(b); _ = ctx.Err() },
		"Cause": func(_ *holdfast.Lock, b *backing, ctx context.Context) { expire(b); _ = context.Cause(ctx) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			locks, b := granting(nil)
			if err := holdfast.Do(caller, locks, "orders/42", func(ctx context.Context, l *holdfast.Lock) error {
				child, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				end(l, b, ctx)
				for _, ended := range []context.Context{ctx, child, l.Context()} {
					select {
					case <-ended.Done():
					default:
						t.Error("the context has not ended with the lock")
					}
					if ended.Err() != context.Canceled || holdfast.Why(context.Cause(ended)) != holdfast.SessionExpired {
						t.Errorf("the context says %v because of %v", ended.Err(), context.Cause(ended))
					}
				}
				return nil
			}); holdfast.Why(err) != holdfast.SessionExpired {
				t.Errorf("Do returns %v", err)
			}
		})
	}
	lostBefore, b := granting(nil)
	expire(b)
	if lostBefore.lock.Check() == nil {
		t.Fatal("the lock is held")
	}
	if err := holdfast.Do(caller, lostBefore, "orders/42", func(ctx context.Context, _ *holdfast.Lock) error {
		return ctx.Err()
	}); holdfast.Why(err) != holdfast.SessionExpired || errors.Is(err, context.Canceled) {
		t.Errorf("Do with a lock that was lost at once returns %v", err)
	}
	if caller.Err() != nil {
		t.Error("the caller's context has ended")
	}
}

// TestDoEndsItsContext keeps the context of the function beyond Do.
func TestDoEndsItsContext(t *testing.T) {
	locks, _ := granting(nil)
	var kept context.Context
	if err := holdfast.Do(t.Context(), locks, "orders/42", func(ctx context.Context, _ *holdfast.Lock) error {
		kept = ctx
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	<-kept.Done()
	if kept.Err() != context.Canceled || context.Cause(kept) != context.Canceled {
		t.Errorf("the context says %v because of %v", kept.Err(), context.Cause(kept))
	}
}

// TestDoUnlockIsBounded has a release that is never accepted.
func TestDoUnlockIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, b := granting(nil)
		session := releasing{b, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		locks.lock = holdfast.NewLock(someGrant, 77, holdfast.Forever, session, t.Context())
		begin := time.Now()
		err := holdfast.Do(t.Context(), locks, "orders/42", func(context.Context, *holdfast.Lock) error { return errWork })
		want := `disk full; and unlock "orders/42" in space "billing": unavailable: the release was not accepted within 5s, and continues in the background`
		if !errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
			t.Errorf("Do returns\n%v, want\n%s", err, want)
		}
		if waited := time.Since(begin); waited != holdfast.UnlockWait {
			t.Errorf("Do waited %v for the release, want %v", waited, holdfast.UnlockWait)
		}
	})
}

// TestUnlockUnderItsOwnContext gives Unlock contexts that end by it. They do not limit its wait.
func TestUnlockUnderItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accept := make(chan struct{})
		b := newBacking(holdfast.Forever)
		session := releasing{b, func(ctx context.Context) error {
			select {
			case <-accept:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		fresh := func() *grants {
			return &grants{lock: holdfast.NewLock(someGrant, 77, holdfast.Forever, session, t.Context())}
		}
		begin := time.Now()
		child, cancel := context.WithCancel(fresh().lock.Context())
		defer cancel()
		another := fresh().lock
		own, cancelOwn := context.WithTimeout(another.Context(), time.Hour)
		defer cancelOwn()
		if err := another.Unlock(own); !errors.Is(err, holdfast.ErrUnavailable) || time.Since(begin) != holdfast.UnlockWait {
			t.Errorf("Unlock that is not accepted returns %v after %v", err, time.Since(begin))
		}
		cancel()
		if err := fresh().lock.Unlock(child); err != context.Canceled {
			t.Errorf("Unlock under the context of another lock, which has ended, returns %v", err)
		}
		time.AfterFunc(time.Second, func() { close(accept) })
		locks := fresh()
		if err := holdfast.Do(t.Context(), locks, "orders/42", func(ctx context.Context, l *holdfast.Lock) error {
			return l.Unlock(ctx)
		}); err != nil {
			t.Errorf("Do of a function that unlocks returns %v", err)
		}
	})
}

// TestDoInGrace reports that the holder has stopped after a hold limit.
func TestDoInGrace(t *testing.T) {
	graced := someGrant
	graced.Grace = true
	b := newBacking(holdfast.Forever)
	locks := &grants{lock: holdfast.NewLock(graced, 77, 2*time.Hour, b, t.Context())}
	err := holdfast.Do(t.Context(), locks, "orders/42", func(ctx context.Context, _ *holdfast.Lock) error {
		expire(b)
		return ctx.Err()
	})
	if holdfast.Why(err) != holdfast.HoldLimit || b.unlocks.Load() != 1 {
		t.Errorf("Do returns %v after %d releases, want the hold limit after one", err, b.unlocks.Load())
	}
}

// TestDoUnlocksAfterPanic checks that a panic goes on, and that a goroutine which ends in the function unlocks.
func TestDoUnlocksAfterPanic(t *testing.T) {
	locks, b := granting(errReleased)
	func() {
		defer func() {
			if value := recover(); value != errWork {
				t.Errorf("recovered %v, want %v", value, errWork)
			}
		}()
		_ = holdfast.Do(t.Context(), locks, "orders/42", func(context.Context, *holdfast.Lock) error { panic(errWork) })
		t.Error("Do returned after a panic")
	}()
	if b.unlocks.Load() != 1 {
		t.Errorf("%d releases after a panic", b.unlocks.Load())
	}
	locks, b = granting(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = holdfast.Do(t.Context(), locks, "orders/42", func(context.Context, *holdfast.Lock) error {
			runtime.Goexit()
			return nil
		})
		t.Error("Do returned after the end of its goroutine")
	}()
	<-ended
	if b.unlocks.Load() != 1 {
		t.Errorf("%d releases after the end of the goroutine", b.unlocks.Load())
	}
}

// TestDoWithinDo ends an inner lock whose context looks at the outer one, which has ended by the clock.
func TestDoWithinDo(t *testing.T) {
	outer, b := granting(nil)
	inner, _ := granting(nil)
	err := holdfast.Do(t.Context(), outer, "outer", func(ctx context.Context, _ *holdfast.Lock) error {
		return holdfast.Do(ctx, inner, "inner", func(ctx context.Context, l *holdfast.Lock) error {
			expire(b)
			l.End(holdfast.Broken)
			return context.Cause(ctx)
		})
	})
	if !errors.Is(err, holdfast.Broken) || !errors.Is(err, holdfast.SessionExpired) {
		t.Errorf("Do returns %v, want both losses", err)
	}
}

func BenchmarkDo(b *testing.B) {
	session := newBacking(holdfast.Forever)
	locks := &grants{}
	for name, run := range map[string]func(*holdfast.Lock) error{
		"do": func(*holdfast.Lock) error {
			return holdfast.Do(b.Context(), locks, "orders/42", func(context.Context, *holdfast.Lock) error { return nil })
		},
		"lock and unlock": func(l *holdfast.Lock) error { return l.Unlock(b.Context()) },
		"with its context": func(l *holdfast.Lock) error {
			_ = l.Context()
			return l.Unlock(b.Context())
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				locks.lock = newLock(session, holdfast.Forever)
				if err := run(locks.lock); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
