package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// sequence is what an observer has seen, in order.
type sequence struct {
	begun  chan struct{} // closed with the first state
	latest atomic.Uint64 // the latest token
	states []holdfast.State
	err    error // the last value
}

// follow observes a name until ctx ends.
func (s *sequence) follow(ctx context.Context, by holdfast.Observer, name string) {
	for state, err := range by.Observe(ctx, name) {
		if err != nil {
			s.err = err
			return
		}
		if s.states = append(s.states, state); len(s.states) == 1 {
			close(s.begun)
		}
		if leader, is := state.Leader(); is {
			s.latest.Store(uint64(leader.Token))
		}
	}
}

// until waits until a token has been seen.
func (s *sequence) until(t *testing.T, token holdfast.Token) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for limit := time.After(time.Minute); s.latest.Load() < uint64(token); {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("token %v is not seen; the latest one is %d", token, s.latest.Load())
		}
	}
}

// check compares what was seen with what was granted: each once and in order, and what is missing is reported.
func (s *sequence) check(t *testing.T, granted []holdfast.Token) {
	t.Helper()
	missed, at, now := false, 0, holdfast.Token(0)
	for i, state := range s.states {
		missed = missed || state.Missed
		leader, _ := state.Leader()
		if leader.Token == now {
			continue // its value, or a waiter
		}
		if now != 0 && leader.Token != 0 && !missed {
			t.Errorf("state %d: token %v follows %v without an end", i, leader.Token, now)
		}
		if now = leader.Token; now == 0 {
			continue
		}
		next := slices.Index(granted, now)
		switch {
		case next < at:
			t.Errorf("state %d: token %v is seen once more, or was not granted", i, now)
		case next > at && !missed:
			t.Errorf("state %d: %d tokens before %v are missing, and nothing says so", i, next-at, now)
		}
		at, missed = next+1, false
	}
	if at != len(granted) {
		t.Errorf("the last %d tokens are not seen", len(granted)-at)
	}
}

// TestObserversOutliveTheirMember ends the member at which a name is observed. The observation goes on at another one.
func TestObserversOutliveTheirMember(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "permission", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			all := serveClusterOf(t, protocol, steady)
			first := elsewhere(all)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := sequence{begun: make(chan struct{})}
			watcher := dial(t, first)
			done := make(chan struct{})
			go func() {
				defer close(done)
				seen.follow(ctx, watcher, "x")
			}()
			worker := dial(t, all[slices.IndexFunc(all, func(m *served) bool { return m != first })])
			var granted []holdfast.Token
			cycles := func(n int) {
				t.Helper()
				for range n {
					l, err := worker.Lock(t.Context(), "x", holdfast.Value(fmt.Sprint(len(granted))))
					if err != nil {
						t.Fatal(err)
					}
					granted = append(granted, l.Token())
					if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, holdfast.ErrLost) { // with the view
						t.Fatal(err)
					}
				}
			}
			select {
			case <-seen.begun:
			case <-done:
				t.Fatal(seen.err)
			}
			cycles(20)
			seen.until(t, granted[len(granted)-1])
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				first.stop(t)
			}()
			cycles(20)
			<-stopped
			cycles(20)
			seen.until(t, granted[len(granted)-1])
			before := granted[len(granted)-1]
			cycles(20)
			if last := granted[len(granted)-1]; last <= before {
				t.Errorf("token %v follows %v", last, before)
			}
			seen.until(t, granted[len(granted)-1])
			cancel()
			<-done
			if !errors.Is(seen.err, context.Canceled) {
				t.Errorf("it ends with %v", seen.err)
			}
			seen.check(t, granted)
		})
	}
}
