package holdfast_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// backing is a session whose clock stands still until a test moves it. It has no
// timers: all that a Lock knows of its end, it has read from this clock.
type backing struct {
	now, deadline atomic.Int64
	unlocks       atomic.Int32
	queued        atomic.Int32
	extended      atomic.Int64
	amended       atomic.Pointer[holdfast.Amendment]
	observed      chan holdfast.State // the states of the name
	err           error               // what the calls return
}

func newBacking(deadline time.Duration) *backing {
	b := &backing{observed: make(chan holdfast.State)}
	b.now.Store(int64(time.Hour))
	b.deadline.Store(int64(deadline))
	return b
}

func (b *backing) Now() time.Duration      { return time.Duration(b.now.Load()) }
func (b *backing) Deadline() time.Duration { return time.Duration(b.deadline.Load()) }

func (b *backing) UnlockLock(ctx context.Context, _ *holdfast.Lock) error {
	b.unlocks.Add(1)
	if b.err == nil {
		return ctx.Err()
	}
	return b.err
}

func (b *backing) QueueUnlock(*holdfast.Lock) error {
	b.queued.Add(1)
	return b.err
}

func (b *backing) ExtendLock(_ context.Context, l *holdfast.Lock, hold time.Duration) error {
	b.extended.Store(int64(hold))
	if b.err == nil {
		l.SetHoldEnd(b.Now() + hold)
	}
	return b.err
}

// ObserveLock yields the states that the test has put into observed, until ctx ends.
func (b *backing) ObserveLock(ctx context.Context, _ *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		for {
			select {
			case state := <-b.observed:
				if !yield(state, nil) {
					return
				}
			case <-ctx.Done():
				yield(holdfast.State{}, ctx.Err())
				return
			}
		}
	}
}

func (b *backing) AmendLock(_ context.Context, _ *holdfast.Lock, a holdfast.Amendment) error {
	b.amended.Store(&a)
	return b.err
}

var someGrant = holdfast.Grant{
	Space: "billing", Name: "orders/42", Owner: "job-7", Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 5}, Token: 9,
}

func newLock(b *backing, holdEnd time.Duration) *holdfast.Lock {
	return holdfast.NewLock(someGrant, 77, holdEnd, b, context.Background())
}

func TestLockGrant(t *testing.T) {
	l := newLock(newBacking(holdfast.Forever), holdfast.Forever)
	got := holdfast.Grant{
		Space: l.Space(), Name: l.Name(), Owner: l.Owner(), Shape: holdfast.Shape{Mode: l.Mode(), Units: l.Units(), Capacity: l.Capacity()}, Token: l.Token(),
	}
	if got != someGrant || l.Request() != 77 {
		t.Errorf("got %+v with request %d, want %+v with 77", got, l.Request(), someGrant)
	}
	if err := l.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
}

// TestDeadlineIsSeenWithoutTimers moves the clock past an end that no timer has
// noticed. The method that is called first has to say so, because a process that slept
// asks before any of its timers has run.
func TestDeadlineIsSeenWithoutTimers(t *testing.T) {
	calls := map[string]func(*holdfast.Lock, context.Context) error{
		"Check":             func(l *holdfast.Lock, _ context.Context) error { return l.Check() },
		"Unlock":            func(l *holdfast.Lock, ctx context.Context) error { return l.Unlock(ctx) },
		"Extend":            func(l *holdfast.Lock, ctx context.Context) error { return l.Extend(ctx, time.Hour) },
		"SetValue":          func(l *holdfast.Lock, ctx context.Context) error { return l.SetValue(ctx, "v") },
		"Cause":             func(_ *holdfast.Lock, ctx context.Context) error { return context.Cause(ctx) },
		"Cause of new":      func(l *holdfast.Lock, _ context.Context) error { return context.Cause(l.Context()) },
		"Err and its cause": func(_ *holdfast.Lock, ctx context.Context) error { return errAndCause(ctx) },
		"a new child": func(_ *holdfast.Lock, ctx context.Context) error {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			return errAndCause(child)
		},
	}
	ends := map[holdfast.Loss]func() (*backing, *holdfast.Lock){
		holdfast.SessionExpired: func() (*backing, *holdfast.Lock) {
			b := newBacking(2 * time.Hour)
			return b, newLock(b, 3*time.Hour)
		},
		holdfast.HoldLimit: func() (*backing, *holdfast.Lock) {
			b := newBacking(3 * time.Hour)
			return b, newLock(b, 2*time.Hour)
		},
	}
	for why, end := range ends {
		for name, call := range calls {
			t.Run(string(why)+"/"+name, func(t *testing.T) {
				b, l := end()
				ctx := l.Context()
				b.now.Store(int64(2*time.Hour - 1))
				if l.Check() != nil || ctx.Err() != nil || context.Cause(ctx) != nil {
					t.Fatalf("it ended before its deadline: %v", l.Check())
				}
				b.now.Store(int64(2 * time.Hour))
				err := call(l, ctx)
				if !errors.Is(err, holdfast.ErrLost) || holdfast.Why(err) != why {
					t.Errorf("got %v, want lost because of %s", err, string(why))
				}
				<-ctx.Done()
				if b.unlocks.Load() != 0 || b.extended.Load() != 0 {
					t.Error("the session heard of a lock that had ended")
				}
				if err := l.Unlock(ctx); holdfast.Why(err) != why {
					t.Errorf("Unlock afterwards: %v", err)
				}
			})
		}
	}
}

func errAndCause(ctx context.Context) error {
	if ctx.Err() != context.Canceled {
		return errors.New("Err is not context.Canceled")
	}
	return context.Cause(ctx)
}

func TestEnd(t *testing.T) {
	l := newLock(newBacking(holdfast.Forever), holdfast.Forever)
	child, cancel := context.WithCancel(l.Context())
	defer cancel()
	if !l.End(holdfast.Broken) {
		t.Error("End of a held lock reports that it was not held")
	}
	<-child.Done()
	if l.End(holdfast.Duplicate) || l.End(nil) {
		t.Error("End of an ended lock reports that it was held")
	}
	want := `lock "orders/42" in space "billing": lost: broken`
	for _, err := range []error{l.Check(), context.Cause(child), context.Cause(l.Context()), l.Unlock(context.Background()), l.Unlock(context.Background())} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}

	closed := newLock(newBacking(holdfast.Forever), holdfast.Forever)
	closed.End(nil)
	if err := closed.Check(); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Check after End without a reason: %v", err)
	}
	if cause := context.Cause(closed.Context()); cause != context.Canceled {
		t.Errorf("the cause after End without a reason: %v", cause)
	}

	wrapped := &holdfast.Error{Op: "renew", Name: "orders/42", Err: holdfast.AuthorityChanged}
	own := newLock(newBacking(holdfast.Forever), holdfast.Forever)
	own.End(wrapped)
	if err := own.Check(); err != error(wrapped) {
		t.Errorf("an *Error was wrapped once more: %v", err)
	}
}

// TestUnlockInGrace: where a name has a grace, an Unlock after the hold limit reaches the session,
// once, and is ErrLost; after every other loss it does not.
func TestUnlockInGrace(t *testing.T) {
	graced := someGrant
	graced.Grace = true
	for name, tt := range map[string]struct {
		grant holdfast.Grant
		why   holdfast.Loss
		want  int32
	}{
		"hold limit":             {graced, holdfast.HoldLimit, 1},
		"hold limit, no grace":   {someGrant, holdfast.HoldLimit, 0},
		"broken before":          {graced, holdfast.Broken, 0},
		"session expired before": {graced, holdfast.SessionExpired, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBacking(holdfast.Forever)
			for _, unlock := range []func(*holdfast.Lock) error{
				(*holdfast.Lock).UnlockAsync,
				func(l *holdfast.Lock) error { return l.Unlock(context.Background()) },
			} {
				l := holdfast.NewLock(tt.grant, 77, holdfast.Forever, b, context.Background())
				l.End(tt.why)
				for range 2 {
					if err := unlock(l); !errors.Is(err, tt.why) {
						t.Errorf("Unlock: %v", err)
					}
				}
			}
			if queued, waited := b.queued.Load(), b.unlocks.Load(); queued != tt.want || waited != tt.want {
				t.Errorf("%d releases were queued and %d waited for, want %d of each", queued, waited, tt.want)
			}
		})
	}
}

// TestUnlockAsync ends the lock, and queues its release once.
func TestUnlockAsync(t *testing.T) {
	b := newBacking(holdfast.Forever)
	l := newLock(b, holdfast.Forever)
	if err := l.UnlockAsync(); err != nil {
		t.Errorf("UnlockAsync: %v", err)
	}
	for _, err := range []error{l.UnlockAsync(), l.Unlock(context.Background()), l.Check()} {
		if !errors.Is(err, holdfast.ErrNotHeld) {
			t.Errorf("after UnlockAsync: %v", err)
		}
	}
	if queued, waited := b.queued.Load(), b.unlocks.Load(); queued != 1 || waited != 0 {
		t.Errorf("the session was asked %d times to queue a release and %d times to wait for one, want once and never", queued, waited)
	}
	lost := newLock(b, holdfast.Forever)
	b.deadline.Store(0)
	if err := lost.UnlockAsync(); !errors.Is(err, holdfast.SessionExpired) || b.queued.Load() != 1 {
		t.Errorf("UnlockAsync of a lock that was lost: %v", err)
	}
}

func TestUnlock(t *testing.T) {
	ctx := context.Background()
	b := newBacking(holdfast.Forever)
	l := newLock(b, holdfast.Forever)
	before := l.Context()
	if err := l.Unlock(ctx); err != nil {
		t.Errorf("Unlock: %v", err)
	}
	for _, held := range []context.Context{before, l.Context()} {
		if held.Err() != context.Canceled || context.Cause(held) != context.Canceled {
			t.Errorf("after Unlock the Context says %v because of %v", held.Err(), context.Cause(held))
		}
		<-held.Done()
	}
	want := `unlock "orders/42" in space "billing": not held`
	if err := l.Unlock(ctx); !errors.Is(err, holdfast.ErrNotHeld) || err.Error() != want {
		t.Errorf("the second Unlock: %v, want %s", err, want)
	}
	b.now.Store(int64(holdfast.Forever - 1))
	b.deadline.Store(0)
	if err := l.Check(); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Check after Unlock, when the session has ended too: %v", err)
	}
	if err := l.Extend(ctx, time.Second); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Extend after Unlock: %v", err)
	}
	if n := b.unlocks.Load(); n != 1 {
		t.Errorf("the session was asked %d times to unlock, want once", n)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := newLock(newBacking(holdfast.Forever), holdfast.Forever).Unlock(gone); err != context.Canceled {
		t.Errorf("Unlock with a context that has ended: %v", err)
	}

	failing := newBacking(holdfast.Forever)
	failing.err = holdfast.ErrUnavailable
	l = newLock(failing, holdfast.Forever)
	if err := l.Unlock(ctx); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Unlock returns %v, not what the session says", err)
	}
	if err := l.Check(); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Check after an Unlock that returned an error: %v; want not held, regardless of the result", err)
	}
}

func TestSetValue(t *testing.T) {
	ctx := context.Background()
	b := newBacking(holdfast.Forever)
	l := newLock(b, holdfast.Forever)
	if err := l.SetValue(ctx, "two\nlines"); err != nil || *b.amended.Load() != (holdfast.Amendment{Value: "two\nlines"}) {
		t.Errorf("SetValue: %v; the session was asked for %+v", err, b.amended.Load())
	}
	b.amended.Store(nil)
	for _, value := range []string{strings.Repeat("x", holdfast.MaxValue+1), "\xff", "a\x00b"} {
		if err := l.SetValue(ctx, value); !errors.Is(err, holdfast.ErrName) || b.amended.Load() != nil {
			t.Errorf("%.10q: %v", value, err)
		}
	}
	b.err = holdfast.ErrUnavailable
	if err := l.SetValue(ctx, ""); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("SetValue that the session refuses: %v", err)
	}
}

func TestExtend(t *testing.T) {
	ctx := context.Background()
	b := newBacking(holdfast.Forever)
	l := newLock(b, 2*time.Hour)
	if err := l.Extend(ctx, 10*time.Hour); err != nil || b.extended.Load() != int64(10*time.Hour) {
		t.Errorf("Extend: %v; the session was asked for %v", err, time.Duration(b.extended.Load()))
	}
	if l.Deadline() != 11*time.Hour {
		t.Errorf("the deadline is %v, want 11h", l.Deadline())
	}
	b.now.Store(int64(5 * time.Hour))
	if err := l.Check(); err != nil {
		t.Errorf("Check past the first limit: %v", err)
	}
	b.now.Store(int64(11 * time.Hour))
	if err := l.Check(); holdfast.Why(err) != holdfast.HoldLimit {
		t.Errorf("Check past the second limit: %v", err)
	}

	b = newBacking(holdfast.Forever)
	l = newLock(b, holdfast.Forever)
	if err := l.Extend(ctx, -time.Second); !errors.Is(err, holdfast.ErrConflict) || b.extended.Load() != 0 {
		t.Errorf("Extend by less than nothing: %v", err)
	}
	b.err = holdfast.ErrUnavailable
	if err := l.Extend(ctx, time.Second); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Extend returns %v, not what the session says", err)
	}
	if err := l.Check(); err != nil {
		t.Errorf("Check after an Extend that was refused: %v", err)
	}
}

func TestUntil(t *testing.T) {
	if until := newLock(newBacking(holdfast.Forever), holdfast.Forever).Until(); !until.IsZero() {
		t.Errorf("Until of a lock without an end: %v", until)
	}
	for _, tt := range []struct{ session, hold, left time.Duration }{
		{3 * time.Hour, holdfast.Forever, 2 * time.Hour},
		{holdfast.Forever, 2 * time.Hour, time.Hour},
		{3 * time.Hour, 2 * time.Hour, time.Hour},
	} {
		l := newLock(newBacking(tt.session), tt.hold)
		before := time.Now().Add(tt.left)
		until := l.Until()
		if after := time.Now().Add(tt.left); until.Before(before) || until.After(after) {
			t.Errorf("Until is %v, want between %v and %v", until, before, after)
		}
	}
}

type valueKey struct{}

func TestContextHasValuesAndNoEndOfTheCaller(t *testing.T) {
	caller, cancel := context.WithTimeout(context.WithValue(context.Background(), valueKey{}, "carried"), time.Hour)
	l := holdfast.NewLock(someGrant, 1, holdfast.Forever, newBacking(holdfast.Forever), caller)
	cancel()
	ctx := l.Context()
	if _, ok := ctx.Deadline(); ok || ctx.Err() != nil || context.Cause(ctx) != nil {
		t.Errorf("the Context ends with the caller's: %v", ctx.Err())
	}
	select {
	case <-ctx.Done():
		t.Error("the Context is done with the caller's")
	default:
	}
	if got := ctx.Value(valueKey{}); got != "carried" {
		t.Errorf("the value is %v", got)
	}
	bare := holdfast.NewLock(someGrant, 1, holdfast.Forever, newBacking(holdfast.Forever), nil)
	if bare.Context().Err() != nil || bare.Context().Value(valueKey{}) != nil {
		t.Error("a lock without a caller's context has an end or a value")
	}
}

func TestContextChildren(t *testing.T) {
	b := newBacking(2 * time.Hour)
	outer := newLock(b, holdfast.Forever)
	inner := holdfast.NewLock(someGrant, 2, holdfast.Forever, newBacking(holdfast.Forever), outer.Context())
	child, cancel := context.WithTimeout(outer.Context(), time.Hour)
	defer cancel()
	after := make(chan struct{})
	context.AfterFunc(outer.Context(), func() { close(after) })
	stop := context.AfterFunc(outer.Context(), func() { t.Error("a function that was stopped ran") })
	stop()
	b.now.Store(int64(2 * time.Hour))
	if outer.Context().Err() == nil {
		t.Fatal("the Context does not see its end")
	}
	<-child.Done()
	<-after
	if holdfast.Why(context.Cause(child)) != holdfast.SessionExpired {
		t.Errorf("the child's cause is %v", context.Cause(child))
	}
	if inner.Context().Err() != nil || inner.Check() != nil {
		t.Error("a lock ended with another under whose Context it was asked for")
	}
}

// TestLockByManyGoroutines has the race detector watch all methods at once. The
// goroutine that comes first ends the lock; exactly one of them may say that it did.
func TestLockByManyGoroutines(t *testing.T) {
	for range 200 {
		b := newBacking(2 * time.Hour)
		l := newLock(b, holdfast.Forever)
		var ended atomic.Int32
		var all sync.WaitGroup
		count := func(did bool) {
			if did {
				ended.Add(1)
			}
		}
		for range 4 {
			all.Go(func() { count(l.End(holdfast.Broken)) })
			all.Go(func() { count(l.Unlock(context.Background()) == nil) })
			all.Go(func() { l.Check() })
			all.Go(func() { l.Until() })
			all.Go(func() { <-l.Context().Done() })
			all.Go(func() { context.Cause(l.Context()) })
		}
		all.Wait()
		if n := ended.Load(); n != 1 {
			t.Fatalf("%d calls ended one lock", n)
		}
		if l.Context().Err() == nil || l.Check() == nil {
			t.Fatal("the lock is held after it was ended")
		}
	}
}
