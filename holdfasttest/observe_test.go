package holdfasttest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// observer reads an observation step by step.
type observer struct {
	t    *testing.T
	next func() (holdfast.State, error, bool)
}

func observe(t *testing.T, locks *holdfasttest.Locker, name string) *observer {
	t.Helper()
	next, stop := iter.Pull2(locks.Observe(t.Context(), name))
	t.Cleanup(stop)
	return &observer{t, next}
}

// says checks the next states: the tokens and values of their holders, then the number of their waiters.
func (o *observer) says(want ...string) {
	o.t.Helper()
	for _, want := range want {
		state, err, _ := o.next()
		if got := says(state); err != nil || got != want {
			o.t.Fatalf("the next state is %q, error %v; want %q", got, err, want)
		}
	}
}

func says(s holdfast.State) (text string) {
	for _, h := range s.Holders {
		text += fmt.Sprintf("%d=%s ", uint32(h.Token), h.Value) // the first token of a table is 2^32 + 1
	}
	return fmt.Sprintf("%s+%d", text, len(s.Waiters))
}

// TestObserve follows a name step by step: what one call changes in several ways is several states.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		first := must(locks.Lock(t.Context(), "a", holdfast.Value("x"), holdfast.Reason("why"), holdfast.Owner("me")))
		began := time.Now()
		o := observe(t, locks, "a")
		state, _, _ := o.next()
		leader, _ := state.Leader()
		want := holdfast.Holder{Client: t.Name(), Owner: "me", Reason: "why", Value: "x", Token: first.Token(), Since: began.UTC()}
		if leader != want || len(state.Holders) != 1 || state.Missed || state.Space != "default" || state.Name != "a" {
			t.Errorf("the first state is %+v, want %+v", state, want)
		}
		again := must(locks.Lock(t.Context(), "a", holdfast.Owner("me")))
		if err := errors.Join(first.Unlock(t.Context()), again.SetValue(t.Context(), "y")); err != nil {
			t.Fatal(err)
		}
		o.says("1=y +0")
		two, three := lockLater(t.Context(), locks.Client("2"), "a", holdfast.Shared()), lockLater(t.Context(), locks.Client("3"), "a", holdfast.Shared())
		four := lockLater(t.Context(), locks.Client("4"), "a")
		o.says("1=y +1", "1=y +2", "1=y +3")
		if err := again.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.says("+3", "2= +2", "2= 3= +1")
		synctest.Wait()
		locks.Break("a")
		o.says("+1", "4= +0")
		synctest.Wait()
		for _, c := range []*call{two, three} {
			lost(t, c.lock, holdfast.Broken)
		}
		locks.ExpireLock(four.lock)
		o.says("+0")
	})
}

// TestObserveHoldLimit has a holder end when its own clock says so, and the next one begin 5 % later.
func TestObserveHoldLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t, holdfasttest.LeaveHeld())
		held := must(locks.Lock(t.Context(), "a", holdfast.Hold(time.Hour)))
		began := time.Now()
		lockLater(t.Context(), locks.Client("next"), "a")
		o := observe(t, locks, "a")
		o.says("1= +1", "+1")
		if after := time.Since(began); after != time.Hour || held.Check() == nil {
			t.Errorf("a holder with a limit of an hour is gone after %v: %v", after, held.Check())
		}
		o.says("2= +0")
		if after := time.Since(began); after < time.Hour+3*time.Minute || after > time.Hour+4*time.Minute {
			t.Errorf("the next holder is seen after %v", after)
		}
	})
}

// TestObservePaused shows nothing where nothing changes, and each change that Resume brings.
func TestObservePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t, holdfasttest.LeaveHeld())
		held := must(locks.Lock(t.Context(), "a"))
		var seen []string
		go func() {
			for state, err := range locks.Observe(t.Context(), "a") {
				if err == nil {
					seen = append(seen, says(state))
				}
			}
		}()
		synctest.Wait()
		locks.Pause()
		for i := range 3 {
			go func() {
				if err := held.SetValue(t.Context(), fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		if want := []string{"1= +0"}; !slices.Equal(seen, want) {
			t.Errorf("seen while paused: %q", seen)
		}
		locks.Resume()
		synctest.Wait()
		if want := []string{"1= +0", "1=0 +0", "1=1 +0", "1=2 +0"}; !slices.Equal(seen, want) {
			t.Errorf("seen: %q, want %q", seen, want)
		}
	})
}

// TestObserveTooSlowly leaves more states unread than are kept.
func TestObserveTooSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		held := must(locks.Lock(t.Context(), "a", holdfast.Value("0")))
		o := observe(t, locks, "a")
		o.says("1=0 +0")
		value := 0
		set := func(n int) {
			for range n {
				value++
				if err := held.SetValue(t.Context(), fmt.Sprint(value)); err != nil {
					t.Fatal(err)
				}
			}
		}
		set(1024)
		for n := range 1024 {
			o.says(fmt.Sprintf("1=%d +0", n+1))
		}
		set(1026)
		for _, want := range []int{value - 1, value} {
			state, err, _ := o.next()
			if got := says(state); err != nil || got != fmt.Sprintf("1=%d +0", want) || state.Missed != (want < value) {
				t.Errorf("after too many states: %q, missed %v, error %v", got, state.Missed, err)
			}
		}
		if err := held.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.says("+0")
	})
}

// TestObserveEnds checks what ends an observation: Close of its client, but no end of its session, and the test.
func TestObserveEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		client := locks.Client("observer")
		var states int
		ended := make(chan error, 2)
		watch := func(by *holdfasttest.Locker) {
			for _, err := range by.Observe(context.Background(), "a") {
				if states++; err != nil {
					ended <- err
				}
			}
		}
		go watch(client)
		synctest.Wait()
		client.Expire()
		synctest.Wait()
		if states != 1 {
			t.Errorf("%d states of a free name", states)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !isClosed(err) {
			t.Errorf("Close ends an observation with %v", err)
		}
		go watch(locks) // until the test ends, or this bubble has a deadlock
		synctest.Wait()
	})
}
