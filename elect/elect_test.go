package elect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// result is what a campaign or a run has returned.
type result struct {
	term elect.Term
	err  error
}

// campaign campaigns, and returns the result later.
func campaign(ctx context.Context, locks holdfast.Locker, options ...elect.Option) <-chan result {
	done := make(chan result, 1)
	go func() {
		term, err := elect.Campaign(ctx, locks, "scheduler", options...)
		done <- result{term, err}
	}()
	return done
}

// TestOrder checks that candidates lead in the order in which they have asked, that each term has a larger token, and
// that the context of a leader ends before the next one leads: by resignation, by loss, and by an operator.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		ctx := t.Context()
		var clients []*holdfasttest.Locker
		var all []<-chan result
		for i := range 5 {
			clients = append(clients, locks.Client(fmt.Sprint("c", i)))
			all = append(all, campaign(ctx, clients[i]))
			synctest.Wait() // it is in the queue
		}
		first := (<-all[0]).term
		if first.Name() != "scheduler" || first.Check() != nil || first.Context().Err() != nil {
			t.Errorf("the first leader: %v %v", first.Check(), first.Context().Err())
		}
		if err := first.Resign(ctx); err != nil {
			t.Fatal(err)
		}
		second := (<-all[1]).term
		if first.Context().Err() == nil || !errors.Is(first.Check(), holdfast.ErrNotHeld) {
			t.Error("the context of a leader that has resigned goes on, and another one leads")
		}
		clients[1].Expire()
		third := (<-all[2]).term
		if holdfast.Why(context.Cause(second.Context())) != holdfast.SessionExpired {
			t.Errorf("the second leader ended because of %v", context.Cause(second.Context()))
		}
		locks.Break("scheduler")
		fourth := (<-all[3]).term
		if holdfast.Why(third.Check()) != holdfast.Broken || holdfast.Why(third.Resign(ctx)) != holdfast.Broken {
			t.Errorf("the third leader: %v", third.Check())
		}
		tokens := []holdfast.Token{first.Token(), second.Token(), third.Token(), fourth.Token()}
		if !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != 4 {
			t.Errorf("tokens %v", tokens)
		}
		if err := fourth.Resign(ctx); err != nil {
			t.Fatal(err)
		}
		fifth := (<-all[4]).term
		if err := fifth.Resign(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAnnounce checks that the value of a candidate is set with its leadership, and replaced.
func TestAnnounce(t *testing.T) {
	locks := holdfasttest.New(t)
	term, err := elect.Campaign(t.Context(), locks, "scheduler", elect.Value("http://one"), elect.With(holdfast.Owner("one")))
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Announce(t.Context(), "http://two"); err != nil {
		t.Error(err)
	}
	if err := term.Announce(t.Context(), strings.Repeat("x", holdfast.MaxValue+1)); !errors.Is(err, holdfast.ErrName) {
		t.Errorf("a value that is too long: %v", err)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Error(err)
	}
	if err := term.Announce(t.Context(), "late"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("a value after the term: %v", err)
	}
}

// TestGivenUp checks that a candidate that no longer waits is passed over.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		leader, err := elect.Campaign(t.Context(), locks.Client("a"), "scheduler")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		second := campaign(ctx, locks.Client("b"))
		synctest.Wait()
		third := campaign(t.Context(), locks.Client("c"))
		synctest.Wait()
		cancel()
		if got := <-second; !errors.Is(got.err, context.Canceled) {
			t.Errorf("a campaign that was given up: %v", got.err)
		}
		if err := leader.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := (<-third).term.Resign(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestRunReturns checks with which error Run returns, and that the candidate has resigned then.
func TestRunReturns(t *testing.T) {
	failed := errors.New("disk full")
	for name, tt := range map[string]struct {
		lead func(context.Context, elect.Term) error
		want error
	}{
		"done":   {func(context.Context, elect.Term) error { return nil }, nil},
		"failed": {func(context.Context, elect.Term) error { return failed }, failed},
	} {
		locks := holdfasttest.New(t)
		if err := elect.Run(t.Context(), locks, "scheduler", tt.lead); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		lock, err := locks.Client("next").TryLock(t.Context(), "scheduler")
		if err != nil {
			t.Fatalf("%s: the next candidate: %v", name, err)
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	locks := holdfasttest.New(t)
	none := func(context.Context, elect.Term) error { t.Error("it leads"); return nil }
	if err := elect.Run(t.Context(), locks, "", none); !errors.Is(err, holdfast.ErrName) {
		t.Errorf("a bad name: %v", err)
	}
	if err := elect.Run(t.Context(), locks, "scheduler", none, elect.Backoff(time.Second, time.Millisecond)); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a bad backoff: %v", err)
	}
	closed := locks.Client("closed")
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := elect.Run(t.Context(), closed, "scheduler", none); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("a closed Locker: %v", err)
	}
}

// TestRunAgain checks that Run campaigns again after each loss, no matter what its function has returned, that it
// reports the loss, never leads twice at a time, and pauses for longer from loss to loss; and that it ends with its
// context.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		failed := errors.New("query canceled")
		var reported []error
		terms := make(chan elect.Term)
		var leading sync.Mutex
		candidate := locks.Client("a")
		done := make(chan error, 1)
		go func() {
			done <- elect.Run(ctx, candidate, "scheduler", func(ctx context.Context, term elect.Term) error {
				if !leading.TryLock() {
					t.Error("it leads twice")
				}
				defer leading.Unlock()
				terms <- term
				<-ctx.Done()
				if n := len(reported); n < 6 && n%2 == 0 {
					return failed
				}
				return ctx.Err()
			}, elect.Backoff(time.Second, time.Minute), elect.OnLoss(func(err error) { reported = append(reported, err) }))
		}()
		last := holdfast.Token(0)
		for range 6 {
			term := <-terms
			if term.Token() <= last {
				t.Errorf("token %v follows %v", term.Token(), last)
			}
			last = term.Token()
			candidate.Expire()
		}
		term := <-terms
		if len(reported) != 6 {
			t.Fatalf("reported: %v", reported)
		}
		for i, err := range reported {
			if holdfast.Why(err) != holdfast.SessionExpired || errors.Is(err, failed) != (i%2 == 0) {
				t.Errorf("loss %d is reported as %v", i, err)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returns %v", err)
		}
		if !errors.Is(term.Check(), holdfast.ErrNotHeld) {
			t.Errorf("the last term: %v", term.Check())
		}
	})
}

// TestRunWaitsForMembers checks that a campaign that fails for a time is followed by another, without a leader meanwhile.
func TestRunWaitsForMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		locks.Pause()
		failures := 0
		led := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- elect.Run(t.Context(), locks.Client("a"), "scheduler", func(context.Context, elect.Term) error {
				close(led)
				return nil
			}, elect.With(holdfast.Wait(time.Second)), elect.OnLoss(func(err error) {
				if !errors.Is(err, holdfast.ErrUnavailable) {
					t.Errorf("a failed campaign is reported as %v", err)
				}
				failures++
			}))
		}()
		time.Sleep(time.Minute) //nolint:forbidigo // inside a synctest bubble
		select {
		case <-led:
			t.Fatal("it leads without an authority")
		default:
		}
		locks.Resume()
		if err := <-done; err != nil || failures == 0 {
			t.Errorf("%v after %d failures", err, failures)
		}
	})
}

// TestPanic checks that a leader that panics resigns.
func TestPanic(t *testing.T) {
	locks := holdfasttest.New(t)
	func() {
		defer func() {
			if recover() != "out of ideas" {
				t.Error("the panic does not go on")
			}
		}()
		_ = elect.Run(t.Context(), locks, "scheduler", func(context.Context, elect.Term) error { panic("out of ideas") })
	}()
	lock, err := locks.Client("next").TryLock(t.Context(), "scheduler")
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
