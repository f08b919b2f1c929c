package host_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestHoldLimitEndsBeforeItIsGrantedAgain: the holder's clock ends the lock at the
// limit, the table gives the name to the next only (1+δ) times as late (P3).
func TestHoldLimitEndsBeforeItIsGrantedAgain(t *testing.T) {
	c := clocktest.NewManual()
	n := start(t, host.Config{Clock: c})
	c.Advance(time.Hour)
	l := take(t, n, "x", holdfast.Hold(10*time.Second))
	next := queue(t, context.Background(), another(t, n), "x")

	c.Advance(10*time.Second - 1)
	if err := l.Context().Err(); err != nil || l.Check() != nil {
		t.Errorf("ended before its limit: %v %v", err, l.Check())
	}
	c.Advance(1)
	if l.Context().Err() == nil {
		t.Error("its Context goes on at its limit")
	}
	lostBecause(t, l, holdfast.HoldLimit)
	if s := condition(t, n); s.Waiters != 1 || len(next) != 0 {
		t.Errorf("granted again as soon as it had ended: %+v", s)
	}
	c.Advance(500*time.Millisecond - 1)
	if s := condition(t, n); s.Waiters != 1 || len(next) != 0 {
		t.Errorf("granted again before a slow clock had counted the limit: %+v", s)
	}
	c.Advance(2)
	second := granted(t, next)
	if second.Token() <= l.Token() {
		t.Errorf("token %v after %v", second.Token(), l.Token())
	}
	if err := l.Unlock(context.Background()); holdfast.Why(err) != holdfast.HoldLimit {
		t.Errorf("unlocking what was lost: %v", err)
	}
	give(t, second)
	free(t, n)
}

// TestLossIsReportedFirst: even where time jumps past both ends at once, the lock has
// ended before the next holder gets its grant.
func TestLossIsReportedFirst(t *testing.T) {
	c := clocktest.NewManual()
	n := start(t, host.Config{Clock: c})
	other := another(t, n)
	for range 200 {
		l := take(t, n, "x", holdfast.Hold(10*time.Second))
		done := l.Context().Done()
		next := queue(t, context.Background(), other, "x")
		c.Advance(time.Minute)
		second := granted(t, next)
		select {
		case <-done:
		default:
			t.Fatal("granted to the next while the Context of the lock before was not done")
		}
		give(t, second)
	}
}

// TestEndlessLimits: limits that no clock can count to are no limits.
func TestEndlessLimits(t *testing.T) {
	c := clocktest.NewManual()
	n := start(t, host.Config{Clock: c})
	c.Advance(time.Hour)
	l := take(t, n, "x", holdfast.Hold(math.MaxInt64))
	next := queue(t, context.Background(), another(t, n), "x", holdfast.Wait(math.MaxInt64))
	c.Advance(1000 * time.Hour)
	if err := l.Check(); err != nil {
		t.Errorf("a lock without an end: %v", err)
	}
	if err := l.Extend(context.Background(), math.MaxInt64); err != nil {
		t.Error(err)
	}
	c.Advance(1000 * time.Hour)
	give(t, l)
	give(t, granted(t, next))
}

// TestExtend moves the end of a lock here and in the table, both ways.
func TestExtend(t *testing.T) {
	ctx := context.Background()
	c := clocktest.NewManual()
	n := start(t, host.Config{Clock: c})
	for _, tt := range []struct {
		name      string
		first, to time.Duration
	}{
		{"later", 10 * time.Second, time.Minute},
		{"earlier", time.Minute, 10 * time.Second},
		{"at all", 0, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var options []holdfast.Option
			if tt.first > 0 {
				options = append(options, holdfast.Hold(tt.first))
			}
			l := take(t, n, "x", options...)
			next := queue(t, ctx, another(t, n), "x")
			c.Advance(time.Second)
			if err := l.Extend(ctx, tt.to); err != nil {
				t.Fatal(err)
			}
			c.Advance(tt.to - 1)
			if err := l.Check(); err != nil {
				t.Errorf("ended early: %v", err)
			}
			c.Advance(1)
			lostBecause(t, l, holdfast.HoldLimit)
			if s := condition(t, n); s.Waiters != 1 {
				t.Error("granted again as soon as it had ended")
			}
			c.Advance(tt.to/20 + time.Millisecond)
			give(t, granted(t, next))
			if err := l.Extend(ctx, time.Hour); holdfast.Why(err) != holdfast.HoldLimit {
				t.Errorf("extending what was lost: %v", err)
			}
		})
	}
	l := take(t, n, "x", holdfast.Hold(time.Second))
	if err := l.Extend(ctx, 0); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Hour)
	give(t, l) // its limit was taken away
	if err := l.Extend(ctx, 0); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("extending what was unlocked: %v", err)
	}
}

// TestExtendOfAnOwner: the limit is the grant's, so every lock under it ends with it.
// Otherwise one of them would be believed in when the name is another's (P3), or would
// keep the name when its owner has given up everything (P4).
func TestExtendOfAnOwner(t *testing.T) {
	ctx := context.Background()
	c := clocktest.NewManual()
	n := start(t, host.Config{Clock: c})
	owner := holdfast.Owner("job-7")
	t.Run("earlier", func(t *testing.T) {
		one, two := take(t, n, "x", owner, holdfast.Hold(time.Minute)), take(t, n, "x", owner)
		next := queue(t, ctx, another(t, n), "x")
		if err := two.Extend(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
		lostBecause(t, one, holdfast.HoldLimit)
		lostBecause(t, two, holdfast.HoldLimit)
		c.Advance(time.Second)
		give(t, granted(t, next))
	})
	t.Run("later", func(t *testing.T) {
		one, two := take(t, n, "x", owner, holdfast.Hold(time.Second)), take(t, n, "x", owner)
		if err := two.Extend(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
		c.Advance(30 * time.Second)
		give(t, one)
		give(t, two)
		free(t, n)
	})
}

// TestExtendCrossesTheEnd: a lock whose limit passes while its extension is under way
// has ended, and the name is not kept for it.
func TestExtendCrossesTheEnd(t *testing.T) {
	ctx := context.Background()
	c := clocktest.NewManual()
	var crossing *holdfast.Lock // set and read on one goroutine, which steps the member
	n := start(t, host.Config{Clock: c, Observe: func(protocol.Time, *protocol.Effects) {
		if crossing == nil {
			return
		}
		c.Advance(200 * time.Millisecond)
		if crossing.Check() == nil {
			t.Error("the lock goes on after its limit")
		}
		crossing = nil
	}})
	l := take(t, n, "x", holdfast.Hold(10*time.Second))
	c.Advance(10*time.Second - 1)
	crossing = l
	if err := l.Extend(ctx, time.Hour); holdfast.Why(err) != holdfast.HoldLimit {
		t.Errorf("extended after its end: %v", err)
	}
	lostBecause(t, l, holdfast.HoldLimit)
	free(t, n)
}

// TestWaitLimit: a wait ends at its limit, not before, and its place is given up.
func TestWaitLimit(t *testing.T) {
	c := clocktest.NewManual()
	n := start(t, host.Config{Clock: c})
	l := take(t, n, "x")
	waiting := queue(t, context.Background(), another(t, n), "x", holdfast.Wait(3*time.Second))
	c.Advance(3*time.Second - 1)
	if s := condition(t, n); s.Waiters != 1 {
		t.Errorf("given up before its limit: %+v", s)
	}
	c.Advance(1)
	if got := <-waiting; !errors.Is(got.err, holdfast.ErrHeld) {
		t.Errorf("%+v", got)
	}
	give(t, l)
	free(t, n)
}
