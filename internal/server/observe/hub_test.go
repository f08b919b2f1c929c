package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stage is a hub over the events of one member, and looks that the test answers.
type stage struct {
	t      *testing.T
	hub    *Hub
	source *events.Source
	state  atomic.Pointer[schema.Lock]
	fails  atomic.Pointer[error]
	looks  atomic.Int32
	token  holdfast.Token
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, source: events.NewSource([]string{holdfast.DefaultSpace})}
	gatherer, err := events.NewGatherer(events.Config{Source: s.source, Self: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.state.Store(&schema.Lock{})
	began := time.Now()
	s.hub = NewHub(Config{
		Attend: func(ctx context.Context, space, name string) (*events.Feed, error) {
			return gatherer.Attend(ctx, events.Filter{Space: space, Prefix: name}, "a")
		},
		Look: func(ctx context.Context, space, name string) (*schema.Lock, error) {
			s.looks.Add(1)
			if err := s.fails.Load(); err != nil {
				return nil, *err
			}
			return s.state.Load(), nil
		},
		Members: func() []string { return []string{"a"} },
		Now:     func() time.Duration { return time.Since(began) },
	})
	t.Cleanup(func() { s.hub.Close(); gatherer.Close() })
	return s
}

// cycle lets a name be granted and released.
func (s *stage) cycle(name string) {
	s.token++
	for _, kind := range []lock.Kind{lock.Granted, lock.Released} {
		d := lock.Decision{Kind: kind, Name: name, Token: s.token, Since: 1, Session: lock.SessionID{Member: 1, Number: 1}, Request: uint64(s.token)}
		s.source.Observe(&protocol.Effects{Replies: []protocol.Reply{{Port: 1, Decision: d}}})
	}
}

func (s *stage) observe(after string) *Observer {
	s.t.Helper()
	o, err := s.hub.Observe(holdfast.DefaultSpace, observed, after, 5)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// next returns the next states as text, and the id of the last one.
func (s *stage) next(o *Observer) (got []string, last string) {
	s.t.Helper()
	states, err := o.Next(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, state := range states {
		text := "free"
		if h := state.GetHolders(); len(h) > 0 {
			text = fmt.Sprint(h[0].GetToken())
		}
		if state.GetMissed() {
			text += " missed"
		}
		got, last = append(got, text), state.GetId()
	}
	return got, last
}

func (s *stage) want(o *Observer, want ...string) (last string) {
	s.t.Helper()
	var all []string
	for len(all) < len(want) {
		var got []string
		got, last = s.next(o)
		all = append(all, got...)
	}
	if !slices.Equal(all, want) {
		s.t.Errorf("shown %q, want %q", all, want)
	}
	return last
}

// TestObservers: each observer has the present state first, then the changes; one that comes again with the id of its
// last state has those that followed, until the name is no longer observed; and any number of them share the looks.
func TestObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		first := s.observe("")
		s.want(first, "free")
		s.cycle("y") // another name, and one that begins like it
		s.cycle(observed + "y")
		s.cycle(observed)
		last := s.want(first, "3", "free")
		second := s.observe("")
		s.want(second, "free")
		first.Close()
		s.cycle(observed)
		s.want(second, "4", "free")
		second.Close()
		time.Sleep(Keep - time.Second) //nolint:forbidigo // inside a synctest bubble
		again := s.observe(last)
		s.cycle(observed)
		s.want(again, "4", "free", "5", "free")
		if looks := s.looks.Load(); looks > 2 { // one at first, and one for an event after a long rest
			t.Errorf("%d looks for three observers", looks)
		}
		again.Close()
		time.Sleep(Keep + time.Second) //nolint:forbidigo // inside a synctest bubble
		late := s.observe(last)
		s.want(late, "free missed")
		if looks := s.looks.Load(); looks > 4 {
			t.Errorf("%d looks; the name was observed without an observer", looks)
		}
		late.Close()
		other := s.observe("xyz-1")
		s.want(other, "free missed")
		other.Close()
		other.named.hub.all = 5
		if _, err := s.hub.Observe(holdfast.DefaultSpace, observed, "", 5); !errors.Is(err, holdfast.ErrLimit) {
			t.Errorf("one more than the limit: %v", err)
		}
	})
}

// TestSlowObserver: an observer that reads less than happens is not waited for, and learns that it lacks states.
func TestSlowObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		slow := s.observe("")
		defer slow.Close()
		s.want(slow, "free")
		for range kept {
			s.cycle(observed)
			synctest.Wait()
			time.Sleep(3 * time.Millisecond) //nolint:forbidigo // inside a synctest bubble: events are gathered for so long
		}
		got, _ := s.next(slow)
		if len(got) != kept || got[0] != fmt.Sprint(kept/2+1, " missed") || got[kept-1] != "free" {
			t.Errorf("%d states, from %q to %q", len(got), got[0], got[len(got)-1])
		}
		for _, state := range got[1:] {
			if strings.Contains(state, "missed") {
				t.Errorf("a later state is %q", state)
			}
		}
	})
}

// TestFailingLooks: a member that cannot tell the state for some time says so. One that does not serve the name says that
// at once, and the next observer begins anew.
func TestFailingLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		down := fmt.Errorf("%w: no authority", holdfast.ErrUnavailable)
		s.fails.Store(&down)
		o := s.observe("")
		began := time.Now()
		if _, err := o.Next(t.Context()); !errors.Is(err, holdfast.ErrUnavailable) || time.Since(began) < unseen || s.looks.Load() < 5 {
			t.Errorf("%v after %v and %d looks", err, time.Since(began), s.looks.Load())
		}
		o.Close()
		bad := fmt.Errorf("%w: nowhere", holdfast.ErrSpace)
		s.fails.Store(&bad)
		began = time.Now()
		o = s.observe("")
		if _, err := o.Next(t.Context()); !errors.Is(err, holdfast.ErrSpace) || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		o.Close()
		s.fails.Store(nil)
		o = s.observe("")
		s.want(o, "free")
		o.Close()
	})
}

// TestClosedHub: a hub that closes ends its observers, and takes no new ones.
func TestClosedHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		o := s.observe("")
		s.want(o, "free")
		ended := make(chan error, 1)
		go func() {
			_, err := o.Next(t.Context())
			ended <- err
		}()
		synctest.Wait()
		s.hub.Close()
		if err := <-ended; !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("an observer of a closed hub: %v", err)
		}
		o.Close()
		if _, err := s.hub.Observe(holdfast.DefaultSpace, observed, "", 5); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("a new observer: %v", err)
		}
	})
}

// TestKeptNames: at most so many names are observed without an observer.
func TestKeptNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for i := range keptAlone + 10 {
			o, err := s.hub.Observe(holdfast.DefaultSpace, fmt.Sprint("n", i), "", 5)
			if err != nil {
				t.Fatal(err)
			}
			s.want(o, "free")
			o.Close()
		}
		s.hub.mu.Lock()
		names, alone := len(s.hub.names), s.hub.alone
		s.hub.mu.Unlock()
		if names != keptAlone || alone != keptAlone {
			t.Errorf("%d names, %d without an observer", names, alone)
		}
	})
}
