package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// observing reads an observation on its own goroutine.
type observing struct {
	states chan holdfast.State
	err    chan error
}

func observe(ctx context.Context, by holdfast.Locker, name string) *observing {
	o := &observing{make(chan holdfast.State, 1000), make(chan error, 1)}
	go func() {
		defer close(o.states)
		for state, err := range by.(holdfast.Observer).Observe(ctx, name) {
			if err != nil {
				o.err <- err
				return
			}
			o.states <- state
		}
	}()
	return o
}

// shows waits for a state with a token; 0 means a free name.
func (o *observing) shows(t *testing.T, token holdfast.Token) holdfast.State {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case state, more := <-o.states:
			if leader, _ := state.Leader(); more && leader.Token == token {
				return state
			}
			if !more {
				t.Fatalf("the observation ends: %v", <-o.err)
			}
		case <-limit:
			t.Fatalf("token %v is not seen", token)
		}
	}
}

// TestObserveUnsupported checks what cannot be observed through a member: names in a store, where other processes lock
// as well, and those of a member whose events are its server's.
func TestObserveUnsupported(t *testing.T) {
	t.Parallel()
	stored := start(t, host.Config{Spaces: []host.Space{{Name: "stored", Protocol: "claim", Store: memory.New(memory.Config{})}}})
	served := start(t, host.Config{Events: events.NewSource([]string{"default"})})
	for name, by := range map[string]holdfast.Locker{"in a store": stored.Space("stored"), "with a server": served} {
		o := observe(t.Context(), by, "x")
		if err := <-o.err; !errors.Is(err, holdfast.ErrUnsupported) || len(o.states) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestObserveClosed checks that the observations of all sessions end with the member.
func TestObserveClosed(t *testing.T) {
	t.Parallel()
	n := life(t, host.Config{})
	all := []*observing{observe(t.Context(), n, "x"), observe(t.Context(), another(t, n), "y"), observe(t.Context(), n, "y")}
	for _, o := range all {
		o.shows(t, 0)
	}
	held := take(t, n, "x")
	all[0].shows(t, held.Token())
	wanted := held.Wanted()
	closeMember(t, n)
	for _, o := range all {
		if err := <-o.err; !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("it ends with %v", err)
		}
	}
	select {
	case <-wanted:
		t.Error("a lock is wanted that has ended")
	default:
	}
}

// TestObserveAcrossViews has the other members leave and come back, one of which decides. The observation goes on.
func TestObserveAcrossViews(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	decider := c.coordinator(t)
	n := c.nodes[c.other(t, decider)]
	o := observe(t.Context(), n, "x")
	o.shows(t, 0)
	first := take(t, n, "x")
	o.shows(t, first.Token())
	for _, i := range []int{decider, c.other(t, decider, slices.Index(c.nodes, n))} {
		c.stop(t, i)
		c.start(t, i)
		c.ready(t)
	}
	give(t, first)
	o.shows(t, 0)
	fresh := observe(t.Context(), n, "x")
	fresh.shows(t, 0)
	next := take(t, c.nodes[decider], "x", holdfast.Value("next"))
	for _, o := range []*observing{o, fresh} {
		if state := o.shows(t, next.Token()); state.Holders[0].Value != "next" {
			t.Errorf("shown as %+v", state)
		}
	}
	give(t, next)
	o.shows(t, 0)
}
