package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// TestCloseEndsEverything: locks and waits of all sessions of the process, whichever
// session opened them, and all that wait for the member to be ready.
func TestCloseEndsEverything(t *testing.T) {
	ctx := context.Background()
	n := life(t, host.Config{Spaces: []host.Space{{Name: "billing"}}})
	one, two := another(t, n), another(t, n)
	held := []*holdfast.Lock{take(t, n, "x"), take(t, one, "y"), take(t, two.Space("billing"), "z", holdfast.Hold(time.Hour))}
	waits := []<-chan outcome{queue(t, ctx, n, "y"), queue(t, ctx, one, "x"), queue(t, ctx, two, "x", holdfast.Wait(time.Hour))}
	closeMember(t, n)
	for _, l := range held {
		lostBecause(t, l, holdfast.ErrClosed)
		if err := l.Unlock(ctx); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("unlock after Close: %v", err)
		}
		if err := l.Extend(ctx, time.Second); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("extend after Close: %v", err)
		}
	}
	for _, wait := range waits {
		got := <-wait
		if got.err == nil { // granted by the session before it, and ended with its own
			lostBecause(t, got.lock, holdfast.ErrClosed)
		} else if !errors.Is(got.err, holdfast.ErrClosed) {
			t.Errorf("a wait that Close ended: %+v", got)
		}
	}
	for _, locks := range []holdfast.Locker{n, one, two, two.Space("billing")} {
		if _, err := locks.Lock(ctx, "new"); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("lock after Close: %v", err)
		}
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := n.Session(ctx); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("session after Close: %v", err)
	}
	if err := n.Break(ctx, "", "x", "test"); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("break after Close: %v", err)
	}
	if err := n.WaitReady(ctx); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("ready after Close: %v", err)
	}
}

// TestCloseWakesWaitReady: a caller that waits for a member to recover hears that it will not.
func TestCloseWakesWaitReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := life(t, host.Config{Serves: true, Clock: clocktest.NewManual()})
		ready := make(chan error)
		go func() { ready <- n.WaitReady(context.Background()) }()
		waiting := queue(t, context.Background(), n, "x")
		synctest.Wait() // both are waiting
		closeMember(t, n)
		if err := <-ready; !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("the wait ended with %v", err)
		}
		if got := <-waiting; !errors.Is(got.err, holdfast.ErrClosed) {
			t.Errorf("the lock ended with %+v", got)
		}
	})
}

// TestSessionCloseReleases: its locks go to the next waiters, other sessions stay.
func TestSessionCloseReleases(t *testing.T) {
	ctx := context.Background()
	n := start(t, host.Config{})
	leaves := another(t, n)
	l, stays := take(t, leaves, "x"), take(t, n, "y")
	waiting, next := queue(t, ctx, leaves, "y"), queue(t, ctx, n, "x")
	if err := leaves.Close(); err != nil {
		t.Fatal(err)
	}
	lostBecause(t, l, holdfast.ErrClosed)
	if got := <-waiting; !errors.Is(got.err, holdfast.ErrClosed) {
		t.Errorf("%+v", got)
	}
	give(t, granted(t, next))
	give(t, stays)
	free(t, n)
}

// TestBreak: the holder learns why, and the next is granted when it has stopped.
func TestBreak(t *testing.T) {
	ctx := context.Background()
	n := start(t, host.Config{})
	holder := another(t, n)
	l := take(t, holder, "x")
	done := l.Context().Done()
	next := queue(t, ctx, n, "x")
	if err := n.Break(ctx, "", "x", "stuck"); err != nil {
		t.Fatal(err)
	}
	second := granted(t, next)
	select {
	case <-done:
	default:
		t.Error("granted to the next while the broken lock's Context was not done")
	}
	lostBecause(t, l, holdfast.Broken)
	if err := l.Unlock(ctx); holdfast.Why(err) != holdfast.Broken {
		t.Errorf("unlocking what was broken: %v", err)
	}
	if err := l.Extend(ctx, time.Second); holdfast.Why(err) != holdfast.Broken {
		t.Errorf("extending what was broken: %v", err)
	}
	give(t, second)
	if _, held, early := host.Kept(holder); held != 0 || early != 0 {
		t.Errorf("%d held, %d early are still kept", held, early)
	}
	free(t, n)
}

// TestBreakCrossesClose: a session that closes while its lock is being broken ends the
// lock before the name is another's, and the member survives that.
func TestBreakCrossesClose(t *testing.T) {
	ctx := context.Background()
	n := start(t, host.Config{})
	for range 400 {
		holder := another(t, n)
		l := take(t, holder, "x")
		done := l.Context().Done()
		next := queue(t, ctx, n, "x")
		var group sync.WaitGroup
		group.Go(func() {
			if err := n.Break(ctx, "", "x", "stuck"); err != nil && !errors.Is(err, holdfast.ErrNotHeld) {
				// The holder that is broken is the one before or the next.
				t.Error(err)
			}
		})
		group.Go(func() {
			if err := holder.Close(); err != nil {
				t.Error(err)
			}
		})
		second := granted(t, next)
		select {
		case <-done:
		default:
			t.Fatal("granted to the next while the lock before had not ended")
		}
		group.Wait()
		if err := second.Unlock(ctx); err != nil && holdfast.Why(err) != holdfast.Broken {
			t.Error(err)
		}
	}
	// What was broken is released by its holder, at the latest when that closes.
	give(t, take(t, n, "x"))
	free(t, n)
}

// TestManyClose: each of many Close calls returns when all is over.
func TestManyClose(t *testing.T) {
	for range 20 {
		n := life(t, host.Config{})
		locks := another(t, n)
		held := []*holdfast.Lock{take(t, n, "x"), take(t, locks, "y")}
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				closer, ends := holdfast.Locker(n), held
				if i%2 == 1 {
					closer, ends = locks, held[1:]
				}
				if err := closer.Close(); err != nil {
					t.Error(err)
				}
				for _, l := range ends {
					if err := l.Check(); !errors.Is(err, holdfast.ErrClosed) {
						t.Errorf("after Close the lock %q is %v", l.Name(), err)
					}
				}
			})
		}
		group.Wait()
	}
}
