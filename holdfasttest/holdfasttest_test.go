package holdfasttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// must returns a result that a test relies on.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func isClosed(err error) bool { return errors.Is(err, holdfast.ErrClosed) }

// lost checks that a lock and its Context have ended because of why.
func lost(t *testing.T, lock *holdfast.Lock, why holdfast.Loss) {
	t.Helper()
	select {
	case <-lock.Context().Done():
	default:
		t.Errorf("the Context of %q is not done", lock.Name())
	}
	if err := lock.Check(); holdfast.Why(err) != why {
		t.Errorf("the lock on %q says %v, want %v", lock.Name(), err, why)
	}
}

// call is a call in progress.
type call struct {
	lock     *holdfast.Lock
	err      error
	position int // -1 if it was not queued
	done     bool
}

// lockLater calls Lock in a goroutine of the bubble.
func lockLater(ctx context.Context, locks holdfast.Locker, name string, o ...holdfast.Option) *call {
	c := &call{position: -1}
	o = append(o, holdfast.OnQueued(func(position int) { c.position = position }))
	go func() {
		c.lock, c.err = locks.Lock(ctx, name, o...)
		c.done = true
	}()
	synctest.Wait()
	return c
}

// TestTimeTakesNoTime has an hour and a day pass in a bubble.
func TestTimeTakesNoTime(t *testing.T) {
	begin := time.Now()
	synctest.Test(t, func(t *testing.T) {
		ctx, start := t.Context(), time.Now()
		locks := holdfasttest.New(t)
		alice := locks.Client("alice")
		held := must(locks.Lock(ctx, "orders/42", holdfast.Hold(time.Hour)))
		next := lockLater(ctx, alice, "orders/42")
		<-held.Context().Done()
		if passed := time.Since(start); passed != time.Hour || next.done {
			t.Errorf("the lock has ended after %v, its successor is granted: %t", passed, next.done)
		}
		lost(t, held, holdfast.HoldLimit)
		time.Sleep(3 * time.Minute) //nolint:forbidigo // inside a synctest bubble; 5 % of the limit
		synctest.Wait()
		if next.lock == nil || next.lock.Token() <= held.Token() {
			t.Fatalf("the next client got %v, %v", next.lock, next.err)
		}

		start = time.Now()
		_, err := locks.Lock(ctx, "orders/42", holdfast.Wait(24*time.Hour))
		var by *holdfast.HeldError
		if !errors.As(err, &by) || by.Owner != "alice" || !by.Since.Equal(start) || time.Since(start) != 24*time.Hour {
			t.Errorf("a wait of %v ends with %v", time.Since(start), err)
		}
		late, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_, err = locks.Lock(late, "orders/42")
		if !errors.As(err, &by) || by.Owner != "alice" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait under a deadline ends with %v", err)
		}
		if err := next.lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
	if passed := time.Since(begin); passed > time.Hour {
		t.Errorf("the test took %v", passed)
	}
}

// TestExtendInTime moves hold limits to and fro, for both locks of an owner.
func TestExtendInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		locks := holdfasttest.New(t)
		me := holdfast.Owner("me")
		one := must(locks.Lock(ctx, "orders/42", me, holdfast.Hold(time.Minute)))
		two := must(locks.Lock(ctx, "orders/42", me))
		if err := two.Extend(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute) //nolint:forbidigo // inside a synctest bubble
		if one.Check() != nil || two.Check() != nil {
			t.Errorf("before the new limit: %v, %v", one.Check(), two.Check())
		}
		if err := one.Extend(ctx, 0); err != nil || !two.Until().IsZero() {
			t.Errorf("without a limit: %v, until %v", err, two.Until())
		}
		time.Sleep(24 * time.Hour) //nolint:forbidigo // inside a synctest bubble
		start := time.Now()
		if err := one.Extend(ctx, time.Second); err != nil {
			t.Error(err)
		}
		<-two.Context().Done()
		if passed := time.Since(start); passed != time.Second {
			t.Errorf("the lock has ended after %v", passed)
		}
		synctest.Wait()
		lost(t, one, holdfast.HoldLimit)
		lost(t, two, holdfast.HoldLimit)
	})
}

// TestExpire ends the session of a client that holds and waits.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		locks := holdfasttest.New(t, holdfasttest.Spaces("billing"))
		alice, bob := locks.Client("alice"), locks.Client("bob")
		held := must(locks.Lock(ctx, "orders/42"))
		ofAlice, billing := must(alice.Lock(ctx, "orders/7")), must(alice.Space("billing").Lock(ctx, "orders/42"))
		first, second := lockLater(ctx, alice, "orders/42"), lockLater(ctx, bob, "orders/42")
		taken := lockLater(ctx, bob, "orders/7")
		if first.position != 0 || second.position != 1 {
			t.Errorf("the positions are %d and %d", first.position, second.position)
		}

		alice.Expire()
		lost(t, ofAlice, holdfast.SessionExpired)
		lost(t, billing, holdfast.SessionExpired)
		synctest.Wait()
		if taken.lock == nil || held.Check() != nil || first.done {
			t.Fatalf("after the end of a session another client has %v, %v; the first holder says %v", taken.lock, taken.err, held.Check())
		}
		if err := ofAlice.Unlock(ctx); holdfast.Why(err) != holdfast.SessionExpired {
			t.Errorf("Unlock after the end of the session: %v", err)
		}
		// It waits in its next session, behind the others.
		for _, before := range []*holdfast.Lock{held, taken.lock} {
			if err := before.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if second.lock == nil || first.done {
			t.Fatalf("the client that waited behind has %v, %v", second.lock, second.err)
		}
		locks.ExpireLock(second.lock)
		lost(t, second.lock, holdfast.SessionExpired)
		synctest.Wait()
		if first.lock == nil || first.lock.Check() != nil || first.position != 0 {
			t.Fatalf("the client whose session had expired has %v, %v, position %d", first.lock, first.err, first.position)
		}
		if err := first.lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestBreak breaks all holders of a name, and one of two.
func TestBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		locks := holdfasttest.New(t, holdfasttest.Spaces("billing"))
		billing := locks.Space("billing").(*holdfasttest.Locker)
		one := must(billing.Lock(ctx, "orders/42", holdfast.Shared()))
		two := must(locks.Client("alice").Space("billing").Lock(ctx, "orders/42", holdfast.Shared()))
		other := must(locks.Lock(ctx, "orders/42"))
		next := lockLater(ctx, billing, "orders/42")
		locks.BreakLock(one)
		lost(t, one, holdfast.Broken)
		if two.Check() != nil || next.done {
			t.Errorf("after the break of one of two locks: %v; the next is granted: %t", two.Check(), next.done)
		}
		billing.Break("orders/42")
		lost(t, two, holdfast.Broken)
		synctest.Wait()
		if next.lock == nil || other.Check() != nil {
			t.Fatalf("after the break the next client has %v, %v, and another space's lock says %v", next.lock, next.err, other.Check())
		}
		for _, lock := range []*holdfast.Lock{next.lock, other} {
			if err := lock.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestPauseOfRequests has requests of all kinds wait for the authority, until their limits and until Resume.
func TestPauseOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		locks := holdfasttest.New(t)
		held := must(locks.Lock(ctx, "held", holdfast.Hold(time.Hour)))
		locks.Pause()
		locks.Pause() // once is enough
		for _, tt := range []struct {
			take func() error
			want error
			wait time.Duration
		}{
			{func() error { _, err := locks.TryLock(ctx, "a"); return err }, holdfast.ErrUnavailable, 5 * time.Second},
			{func() error { _, err := locks.Lock(ctx, "a", holdfast.Wait(time.Minute)); return err }, holdfast.ErrUnavailable, time.Minute},
			{func() error {
				_, err := locks.LockAll(ctx, []string{"b", "a"}, holdfast.Wait(time.Minute))
				return err
			}, holdfast.ErrUnavailable, time.Minute},
			{func() error {
				late, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				_, err := locks.Lock(late, "a")
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a call under a deadline ends with %v", err)
				}
				return err
			}, holdfast.ErrUnavailable, time.Hour},
		} {
			start := time.Now()
			err := tt.take()
			var why *holdfast.UnavailableError
			if !errors.Is(err, tt.want) || !errors.As(err, &why) || !strings.Contains(why.Why, "paused") || time.Since(start) != tt.wait {
				t.Errorf("after %v the call returns %v, want %v after %v", time.Since(start), err, tt.want, tt.wait)
			}
		}
		lost(t, held, holdfast.HoldLimit)

		first, second := lockLater(ctx, locks, "a"), lockLater(ctx, locks.Client("alice"), "a")
		if first.position != -1 || second.position != -1 || first.done || second.done {
			t.Errorf("requests were queued at %d and %d while there was no authority", first.position, second.position)
		}
		locks.Resume()
		synctest.Wait()
		if first.lock == nil || first.position != -1 || second.done || second.position != 0 {
			t.Fatalf("after Resume the first has %v at %d, and the second waits at %d", first.lock, first.position, second.position)
		}
		if err := first.lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := second.lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
		locks.Resume() // it is there
	})
}

// results are those of calls in progress, by what they do.
type results map[string]*error

// begin makes a call in a goroutine of the bubble.
func (r results) begin(ctx context.Context, what string, act func(context.Context) error) {
	result := errors.New("it waits")
	r[what] = &result
	go func() { result = act(ctx) }()
	synctest.Wait()
}

// late gives a call a second.
func late(act func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return act(ctx)
	}
}

// are checks the results so far.
func (r results) are(t *testing.T, want map[string]string) {
	t.Helper()
	for what, want := range want {
		if got := fmt.Sprint(*r[what]); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
}

// free checks that names are free.
func free(t *testing.T, locks holdfast.Locker, names ...string) {
	t.Helper()
	for _, name := range names {
		lock, err := locks.TryLock(t.Context(), name)
		if err != nil {
			t.Errorf("%q should be free: %v", name, err)
			continue
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestPauseOfUnlock has Unlock wait for the authority, until its session or its context ends.
func TestPauseOfUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, got := t.Context(), results{}
		locks := holdfasttest.New(t)
		alice, bob := locks.Client("alice"), locks.Client("bob")
		unlocked, hasty, quiet := must(locks.Lock(ctx, "unlocked")), must(locks.Lock(ctx, "late")), must(locks.Lock(ctx, "quiet"))
		expired, closed := must(alice.Lock(ctx, "expired")), must(bob.Lock(ctx, "closed"))
		next := lockLater(ctx, bob, "quiet")
		locks.Pause()
		got.begin(ctx, "unlock", unlocked.Unlock)
		got.begin(ctx, "late", late(hasty.Unlock))
		got.begin(ctx, "expired", expired.Unlock)
		got.begin(ctx, "closed", closed.Unlock)
		if err := quiet.UnlockAsync(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // inside a synctest bubble
		alice.Expire()
		if err := bob.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		got.are(t, map[string]string{
			"unlock": "it waits", "late": "context deadline exceeded",
			"expired": `unlock "expired": lost: session expired`, "closed": "<nil>",
		})
		if !isClosed(next.err) {
			t.Errorf("a call that waits when its Locker is closed returns %v, %v", next.lock, next.err)
		}
		locks.Resume()
		synctest.Wait()
		got.are(t, map[string]string{"unlock": "<nil>"})
		free(t, locks, "unlocked", "late", "quiet", "expired", "closed")
	})
}

// TestPauseOfExtend has Extend wait for the authority. A shorter limit counts at once.
func TestPauseOfExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, got := t.Context(), results{}
		locks := holdfasttest.New(t)
		alice := locks.Client("alice")
		hour := holdfast.Hold(time.Hour)
		extended, later, short := must(locks.Lock(ctx, "extended", hour)), must(locks.Lock(ctx, "later", hour)), must(locks.Lock(ctx, "short", hour))
		never, unlocked := must(alice.Lock(ctx, "never", hour)), must(locks.Lock(ctx, "unlocked", hour))
		locks.Pause()
		extend := func(lock *holdfast.Lock, hold time.Duration) func(context.Context) error {
			return func(ctx context.Context) error { return lock.Extend(ctx, hold) }
		}
		got.begin(ctx, "extended", extend(extended, 3*time.Hour))
		got.begin(ctx, "later", late(extend(later, 3*time.Hour)))
		got.begin(ctx, "short", extend(short, time.Minute))
		got.begin(ctx, "never", extend(never, 3*time.Hour))
		got.begin(ctx, "unlocked", extend(unlocked, 3*time.Hour))
		if err := unlocked.UnlockAsync(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		lost(t, short, holdfast.HoldLimit)
		alice.Expire()
		synctest.Wait()
		got.are(t, map[string]string{
			"extended": "it waits", "later": "context deadline exceeded", "short": "it waits",
			"never": `lock "never": lost: session expired`, "unlocked": "it waits",
		})
		locks.Resume()
		synctest.Wait()
		got.are(t, map[string]string{
			"extended": "<nil>", "short": `lock "short": lost: hold limit`, "unlocked": `check "unlocked": not held`,
		})
		free(t, locks, "short", "never", "unlocked")
		time.Sleep(2*time.Hour + 30*time.Minute) //nolint:forbidigo // inside a synctest bubble
		for _, held := range []*holdfast.Lock{extended, later} {
			if err := held.Unlock(ctx); err != nil {
				t.Errorf("a lock whose limit was extended: %v", err)
			}
		}
	})
}

// TestLimits reaches the bounds that lockertest does not.
func TestLimits(t *testing.T) {
	locks := holdfasttest.New(t, holdfasttest.Names(1), holdfasttest.Class(holdfast.Available))
	held := must(locks.Lock(t.Context(), "a"))
	_, err := locks.TryLock(t.Context(), "b")
	var limit *holdfast.LimitError
	if !errors.As(err, &limit) || limit.Limit != "names" || limit.Value != 1 {
		t.Errorf("one name more than allowed: %v", err)
	}
	if _, err := locks.TryLock(t.Context(), "a", holdfast.Require(holdfast.Fenced)); !errors.Is(err, holdfast.ErrClass) {
		t.Errorf("a class that the locks do not have: %v", err)
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMisuse checks that what does nothing fails the test.
func TestMisuse(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(locks *holdfasttest.Locker, unlocked *holdfast.Lock)
		want string
	}{
		"break":         {func(l *holdfasttest.Locker, _ *holdfast.Lock) { l.Break("x") }, `Break "x": the name is not held`},
		"break a lock":  {func(l *holdfasttest.Locker, u *holdfast.Lock) { l.BreakLock(u) }, `BreakLock: the lock on "unlocked" is not held`},
		"expire a lock": {func(l *holdfasttest.Locker, u *holdfast.Lock) { l.ExpireLock(u) }, `ExpireLock: the lock on "unlocked" is not held`},
		"break in a pause": {func(l *holdfasttest.Locker, _ *holdfast.Lock) { l.Pause(); l.Break("x") },
			`Break "x": the locks are paused; call Resume before it`},
		"an unknown space": {func(l *holdfasttest.Locker, _ *holdfast.Lock) { l.Space("tax").(*holdfasttest.Locker).Break("x") },
			`Break "x": there is no space "tax"; give New the option Spaces("tax")`},
		"expire a closed client": {func(l *holdfasttest.Locker, _ *holdfast.Lock) {
			alice := l.Client("alice")
			if err := alice.Close(); err != nil {
				t.Error(err)
			}
			alice.Expire()
		}, `Expire: the client "alice" is closed, and has no session`},
		"a client's name": {func(l *holdfasttest.Locker, _ *holdfast.Lock) { l.Client("a\n") },
			`Client("a\n"): client: bad name: control character U+000A at byte 1`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			locks := holdfasttest.New(r)
			unlocked := must(locks.Lock(t.Context(), "unlocked"))
			if err := unlocked.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			tt.do(locks, unlocked)
			if got, want := r.end(), "holdfasttest: "+tt.want; got != want {
				t.Errorf("the test fails with\n%s, want\n%s", got, want)
			}
		})
	}
	for option, want := range map[string]struct {
		option holdfasttest.Option
		text   string
	}{
		"space": {holdfasttest.Spaces("a b"), `bad name: space "a b" contains ' '`},
		"limit": {holdfasttest.Names(-1), "Names -1: want 0"},
	} {
		t.Run(option, func(t *testing.T) {
			r, ended := &recorder{TB: t}, make(chan struct{})
			go func() {
				defer close(ended)
				holdfasttest.New(r, want.option)
				t.Error("New has accepted a malformed option")
			}()
			<-ended
			if got := r.end(); !strings.Contains(got, want.text) {
				t.Errorf("New fails with %q, want %q", got, want.text)
			}
		})
	}
}

// TestOfTwoTimes uses locks in a bubble that were made outside of it, and the other way round.
func TestOfTwoTimes(t *testing.T) {
	refused := func(t *testing.T, locks *holdfasttest.Locker) {
		t.Helper()
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "call New within the bubble") {
				t.Errorf("the locks say %s", text)
			}
		}()
		held, err := locks.Lock(context.Background(), "orders/42")
		t.Errorf("the locks were used with a clock of another time: %v, %v", held, err)
	}
	outside := holdfasttest.New(&recorder{TB: t})
	var inside *holdfasttest.Locker
	synctest.Test(t, func(t *testing.T) {
		refused(t, outside)
		inside = holdfasttest.New(&recorder{TB: t})
	})
	refused(t, inside)
}
