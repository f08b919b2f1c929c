package top

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// testSource is a cluster of two spaces, and counts what it is asked.
type testSource struct {
	t       *testing.T
	names   map[string]int // held names, by space
	asked   []string
	under   atomic.Int32 // requests under way
	refused error        // of listings
	grants  int          // a feed has so many, and then waits
	every   time.Duration
	feeds   atomic.Int32 // opened
}

func (s *testSource) enter(call string) func() {
	if s.under.Add(1) > 1 {
		s.t.Errorf("%s while another request is under way", call)
	}
	s.asked = append(s.asked, call)
	return func() { s.under.Add(-1) }
}

func (s *testSource) Status(context.Context) (*schema.Status, error) {
	defer s.enter("status")()
	status := testStatus()
	for _, space := range status.Spaces {
		space.Locks, space.Waiters = int32(s.names[space.Name]), 0
	}
	return status, nil
}

func (s *testSource) List(_ context.Context, space, prefix, after string, limit int) (*schema.LockPage, error) {
	defer s.enter(fmt.Sprintf("list %s %q %q %d", space, prefix, after, limit))()
	if s.refused != nil {
		return nil, s.refused
	}
	page := &schema.LockPage{}
	for i := range min(limit, s.names[space]) {
		page.Locks = append(page.Locks, &schema.Lock{Space: space, Name: fmt.Sprint(i)})
	}
	if s.names[space] > limit {
		page.Next = "more"
	}
	return page, nil
}

func (s *testSource) Show(_ context.Context, space, name string) (*schema.Lock, error) {
	defer s.enter("show " + space + " " + name)()
	return &schema.Lock{Space: space, Name: name}, nil
}

func (s *testSource) Watch(ctx context.Context, space, _ string, _ ...func()) iter.Seq2[*schema.WatchEvent, error] {
	return func(yield func(*schema.WatchEvent, error) bool) {
		s.feeds.Add(1)
		for range s.grants {
			if s.every > 0 {
				time.Sleep(s.every) //nolint:forbidigo // inside a synctest bubble
			}
			if !yield(&schema.WatchEvent{Event: eventGranted, Space: space, Name: "counter"}, nil) {
				return
			}
			if !yield(&schema.WatchEvent{Event: "released", Space: space, Name: "counter"}, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// TestARefreshIsBounded: one request after the other, and at most a thousand names.
func TestARefreshIsBounded(t *testing.T) {
	for _, step := range []struct {
		names map[string]int
		q     question
		asked []string
		locks int
		cut   []string
	}{
		{nil, question{}, []string{"status"}, 0, nil},
		{map[string]int{"default": 3, "jobs": 2}, question{prefix: "p"}, []string{"status", `list default "p" "" 1000`, `list jobs "p" "" 997`}, 5, nil},
		{map[string]int{"default": 5000, "jobs": 2}, question{}, []string{"status", `list default "" "" 1000`}, 1000, []string{"default", "jobs"}},
		{map[string]int{"default": 400, "jobs": 601}, question{}, []string{"status", `list default "" "" 1000`, `list jobs "" "" 600`}, 1000, []string{"jobs"}},
		{map[string]int{"default": 5000, "jobs": 2}, question{space: "jobs"}, []string{"status", `list jobs "" "" 1000`}, 2, nil},
		{map[string]int{"default": 5000}, question{lock: lockKey{"default", "n"}}, []string{"status", "show default n"}, 0, nil},
	} {
		source := &testSource{t: t, names: step.names}
		c := newCollector(t.Context(), Config{Source: source, Timeout: time.Second})
		s := c.collect(step.q)
		c.close()
		if fmt.Sprint(source.asked) != fmt.Sprint(step.asked) || len(s.locks) != step.locks || fmt.Sprint(s.cut) != fmt.Sprint(step.cut) || s.err != nil {
			t.Errorf("%v: asked %q, %d names, cut %v, %v", step, source.asked, len(s.locks), s.cut, s.err)
		}
	}
}

// silence is the error of a network that does not answer.
type silence struct{ answered bool }

func (silence) Error() string    { return "no member reachable" }
func (s silence) Answered() bool { return s.answered }

// TestRefusedListing: a member's refusal leaves the rest; silence is reported, with the status that has come.
func TestRefusedListing(t *testing.T) {
	for _, step := range []struct{ refused, want error }{
		{errors.New("unavailable: suspended"), nil},
		{silence{answered: true}, nil},
		{silence{}, silence{}},
		{context.DeadlineExceeded, context.DeadlineExceeded},
	} {
		source := &testSource{t: t, names: map[string]int{"default": 1}, refused: step.refused}
		c := newCollector(t.Context(), Config{Source: source, Timeout: time.Second})
		s := c.collect(question{})
		c.close()
		if !errors.Is(s.err, step.want) || s.status == nil {
			t.Errorf("%v: %v, status %v", step.refused, s.err, s.status)
		}
	}
}

// TestRates: grants per second come near the true ones; a feed with too many events rests.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{t: t, grants: 500}
		c := newCollector(t.Context(), Config{Source: source, Timeout: time.Second, Rates: true})
		defer c.close()
		c.collect(question{})
		if synctest.Wait(); source.feeds.Load() != 2 {
			t.Fatalf("%d feeds, want one for each space", source.feeds.Load())
		}
		time.Sleep(10 * time.Second) //nolint:forbidigo // inside a synctest bubble
		s := c.collect(question{})
		if rate := s.rates.names[lockKey{"jobs", "counter"}]; rate < 25 || rate > 50 || !s.rates.at.IsZero() {
			t.Errorf("rate %v of 50/s, of %v", rate, s.rates.at)
		}
		for range 9 {
			time.Sleep(10 * time.Second) //nolint:forbidigo // inside a synctest bubble
			s = c.collect(question{})
		}
		if len(s.rates.names) != 0 || len(s.rates.spaces) != 0 {
			t.Errorf("without further grants the rates are %v", s.rates)
		}
	})
}

// TestFeedsOfTooManyEventsRest: they are read until the bound, which gives the rates, and again five minutes later.
func TestFeedsOfTooManyEventsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{t: t, grants: 10 * eventBound, every: 4 * time.Second / eventBound}
		c := newCollector(t.Context(), Config{Source: source, Timeout: time.Second, Rates: true})
		defer c.close()
		c.collect(question{})
		synctest.Wait()
		time.Sleep(2 * time.Second) //nolint:forbidigo // inside a synctest bubble
		read := time.Now()
		for at := time.Duration(0); at < restFor; at += 10 * time.Second {
			s := c.collect(question{})
			rate := s.rates.names[lockKey{"jobs", "counter"}]
			if synctest.Wait(); source.feeds.Load() != 2 || !s.rates.at.Before(read) || rate < 4900 || rate > 5100 {
				t.Fatalf("after %v %d feeds, rate %v of 5000/s of %v", at, source.feeds.Load(), rate, s.rates.at)
			}
			time.Sleep(10 * time.Second) //nolint:forbidigo // inside a synctest bubble
		}
		c.collect(question{})
		if synctest.Wait(); source.feeds.Load() != 4 {
			t.Errorf("%d feeds after the rest, want 4", source.feeds.Load())
		}
	})
}

// TestBusyNamesAreShown: those with the most grants are asked for where the list leaves them out.
func TestBusyNamesAreShown(t *testing.T) {
	source := &testSource{t: t, names: map[string]int{"default": 5000, "jobs": 1}}
	c := newCollector(t.Context(), Config{Source: source, Timeout: time.Second})
	defer c.close()
	for i := range 20 {
		c.rates[lockKey{"default", fmt.Sprintf("hot/%02d", i)}] = float64(i)
	}
	c.rates[lockKey{"default", "7"}] = 100 // it is listed
	c.rates[lockKey{"other", "n"}] = 100   // all names of that space are listed
	s := c.collect(question{})
	if s.err != nil || len(source.asked) != 2+busyBound || source.asked[2] != "show default hot/19" || len(s.locks) != nameBound+busyBound {
		t.Errorf("asked %q, %d names, %v", source.asked, len(s.locks), s.err)
	}
}
