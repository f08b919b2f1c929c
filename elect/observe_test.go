package elect_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// TestObserve follows an election: its leaders, their values, and the times without a leader; candidates are not seen.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		next, stop := iter.Pull2(elect.Observe(t.Context(), locks, "scheduler"))
		defer stop()
		leads := func(term elect.Term, client, value string) {
			t.Helper()
			want := elect.Leader{}
			if client != "" {
				want = elect.Leader{Value: value, Token: term.Token(), Client: client, Since: time.Now().UTC()}
			}
			if got, err, _ := next(); err != nil || got != want {
				t.Fatalf("observed %+v, error %v; want %+v", got, err, want)
			}
		}
		none := func() { t.Helper(); leads(elect.Term{}, "", "") }
		none()
		a, b := locks.Client("a"), locks.Client("b")
		first := (<-campaign(t.Context(), a, elect.Value("http://a"))).term
		leads(first, "a", "http://a")
		campaigns := campaign(t.Context(), b, elect.Value("http://b"))
		synctest.Wait() // it is in the queue
		if err := first.Announce(t.Context(), "http://a:81"); err != nil {
			t.Fatal(err)
		}
		leads(first, "a", "http://a:81")
		a.Expire()
		second := (<-campaigns).term
		none()
		leads(second, "b", "http://b")
		if err := second.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		none()
	})
}

// states is a Locker that shows states of the test's.
type states struct {
	holdfast.Locker
	all []holdfast.State
}

func (s states) Observe(context.Context, string) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		for _, state := range s.all {
			if !yield(state, nil) {
				return
			}
		}
		yield(holdfast.State{}, holdfast.ErrClosed)
	}
}

// TestObserveMissed checks that a gap is reported with the next leader, and that a leader without one is reported once.
func TestObserveMissed(t *testing.T) {
	held := func(token holdfast.Token, value string, missed bool) holdfast.State {
		return holdfast.State{Holders: []holdfast.Holder{{Token: token, Value: value}}, Missed: missed}
	}
	locks := states{all: []holdfast.State{
		held(1, "", false), held(1, "", true), {Waiters: make([]holdfast.Waiter, 1)}, {Missed: true}, held(2, "x", false),
		held(2, "y", false), {Holders: []holdfast.Holder{{Token: 2, Value: "y"}, {Token: 5}}},
	}}
	want := []elect.Leader{{Token: 1}, {Missed: true}, {Token: 2, Value: "x", Missed: true}, {Token: 2, Value: "y"}, {Token: 5}}
	for leader, err := range elect.Observe(t.Context(), locks, "scheduler") {
		switch {
		case err != nil:
			if len(want) != 0 || !errors.Is(err, holdfast.ErrClosed) || leader != (elect.Leader{}) {
				t.Errorf("it ends with %+v and error %v, and misses %+v", leader, err, want)
			}
			return
		case len(want) == 0 || leader != want[0]:
			t.Fatalf("observed %+v, want %+v", leader, want)
		}
		want = want[1:]
	}
	t.Error("it ends without an error")
}

// TestObserveRefused checks the errors of what cannot be observed.
func TestObserveRefused(t *testing.T) {
	locks := holdfasttest.New(t)
	for name, tt := range map[string]struct {
		locks holdfast.Locker
		name  string
		want  error
	}{
		"no observer": {struct{ holdfast.Locker }{locks}, "scheduler", holdfast.ErrUnsupported},
		"no name":     {locks, "", holdfast.ErrName},
		"no space":    {locks.Space("none"), "scheduler", holdfast.ErrSpace},
	} {
		count := 0
		for leader, err := range elect.Observe(t.Context(), tt.locks, tt.name) {
			if count++; !errors.Is(err, tt.want) || leader != (elect.Leader{}) {
				t.Errorf("%s: %+v, error %v", name, leader, err)
			}
		}
		if count != 1 {
			t.Errorf("%s: %d values", name, count)
		}
	}
	for range elect.Observe(t.Context(), locks, "scheduler") {
		break // leaves nothing behind
	}
}
