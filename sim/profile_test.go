package sim

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// full is a summary of runs that have hit everything.
func full(c *Config, seeds int) *Summary {
	s := &Summary{Protocol: c.Protocol.Name, Seeds: seeds, counts: newCounts(true)}
	for i := range s.counts.faults {
		s.counts.faults[i] = 1
	}
	for _, m := range c.marks() {
		switch m.sort {
		case "phase", "rest", "quota", "observe", "run", "heir", "far", "foreign", "together", "break across a transfer", "loss":
			s.counts.hits[m] = 1
		}
	}
	delete(s.counts.hits, followsLoad)
	for _, m := range c.Protocol.below() {
		s.counts.messages[message{true, reflect.TypeOf(m)}] = 1
	}
	for _, m := range c.Protocol.sent() {
		s.counts.messages[message{false, reflect.TypeOf(m)}] = 1
	}
	for _, h := range c.Protocol.handlers() {
		s.counts.handlers[h] = 1
	}
	return s
}

// of returns the counts of some sorts.
func (c *counts) of(sorts ...string) map[mark]int {
	found := maps.Clone(c.hits)
	maps.DeleteFunc(found, func(m mark, _ int) bool { return !slices.Contains(sorts, m.sort) })
	return found
}

// hitTwice adds two runs that have hit all rows of some sorts.
func (s *Summary) hitTwice(c *Config, sorts ...string) map[mark]int {
	one := newCounts(true)
	for _, m := range c.marks() {
		if slices.Contains(sorts, m.sort) {
			one.hits[m] = 1
		}
	}
	s.counts.add(one)
	s.counts.add(one)
	return s.counts.of(sorts...)
}

// TestTheProfileFails checks that a profile fails if many runs have missed a row, and only then.
func TestTheProfileFails(t *testing.T) {
	for name, tt := range map[string]struct {
		seeds    int
		change   func(*Config, *Summary)
		complete bool
		never    []string
	}{
		"everything": {1000, func(*Config, *Summary) {}, true, nil},
		"a fault":    {1000, func(_ *Config, s *Summary) { s.counts.faults[Pause] = 0 }, true, []string{"fault pause"}},
		"a message": {20000, func(_ *Config, s *Summary) {
			delete(s.counts.messages, message{true, reflect.TypeOf(membership.Poll{})})
		}, true, []string{"message membership.Poll"}},
		"a handler": {1000, func(_ *Config, s *Summary) {
			delete(s.counts.handlers, handler{"sessions", protocol.Tick, nil})
		}, true, []string{"handler sessions tick"}},
		"a loss":               {1000, func(_ *Config, s *Summary) { delete(s.counts.hits, loss(holdfast.Broken)) }, true, []string{"loss broken"}},
		"a phase":              {1000, func(_ *Config, s *Summary) { s.counts.hits[phaseSettled] = 0 }, true, []string{"phase settled"}},
		"a way to stay broken": {1000, func(_ *Config, s *Summary) { s.counts.hits[restDeaf.mark()] = 0 }, true, []string{"rest deaf"}},
		"no core is healed first": {1000, func(c *Config, s *Summary) {
			c.Core = CoreNever
			maps.DeleteFunc(s.counts.hits, func(m mark, _ int) bool { return m.sort == "rest" || m == phaseCore })
		}, true, nil},
		"slow links":       {1000, func(_ *Config, s *Summary) { s.counts.hits[farViewed] = 0 }, true, []string{"far a view is formed over slow links"}},
		"few runs":         {999, func(_ *Config, s *Summary) { s.counts.faults[Pause] = 0 }, false, []string{"fault pause"}},
		"few faults":       {1000, func(c *Config, _ *Summary) { c.Faults = 1 << Crash }, false, nil},
		"short runs":       {1000, func(c *Config, _ *Summary) { c.Duration = time.Second }, false, nil},
		"always as many":   {1000, func(c *Config, _ *Summary) { c.Members = 3 }, false, nil},
		"more than within": {1000, func(c *Config, _ *Summary) { c.Faults = Within | Beyond }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := config("central")
			s := full(&c, tt.seeds)
			tt.change(&c, s)
			p, err := s.Profile(c)
			if err != nil {
				t.Fatal(err)
			}
			if p.Complete != tt.complete || !slices.Equal(p.Never, tt.never) {
				t.Errorf("complete %v, never %q; want %v, %q", p.Complete, p.Never, tt.complete, tt.never)
			}
		})
	}
}

// TestTheProfileIsReadable checks that a profile has a line for each sort.
func TestTheProfileIsReadable(t *testing.T) {
	c := config("central")
	s := full(&c, 1)
	delete(s.counts.messages, message{true, reflect.TypeOf(membership.Poll{})})
	p, err := s.Profile(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fault: 27 of 27 kinds, 27 hits\n", "phase: 6 of 6 kinds", "rest: 7 of 7 kinds, 7 hits\n", "message: 23 of 24 kinds, 23 hits\n", "handler: ", "loss: 7 of 7"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("it does not say %q:\n%s", want, p.Text)
		}
	}
	if !slices.Equal(p.Never, []string{"message membership.Poll"}) {
		t.Errorf("never hit: %q", p.Never)
	}
	if _, err := s.Profile(Config{}); err == nil {
		t.Error("a run of no protocol has a profile")
	}
}

// TestCountingAllocatesNothing checks that counting, which is always on, does not allocate once everything was hit.
func TestCountingAllocatesNothing(t *testing.T) {
	c := newCounts(true)
	events := []protocol.Event{{Kind: protocol.Tick}, {Kind: protocol.Start}, {Kind: protocol.Receive, Fact: membership.Poll{}}, {Kind: protocol.Raised, Fact: &protocol.View{}}}
	count := func() {
		for i := range events {
			for range i + 1 {
				c.step(theSpace, &events[i])
			}
		}
	}
	count()
	if n := testing.AllocsPerRun(10, count); n > 0 {
		t.Errorf("%v allocations", n)
	}
	sum := newCounts(true)
	sum.add(c)
	sum.add(c)
	if got := sum.handlers[handler{"space", protocol.Raised, reflect.TypeOf(&protocol.View{})}]; got != 2*4*12 {
		t.Errorf("%d steps are counted, want %d", got, 2*4*12)
	}
}
