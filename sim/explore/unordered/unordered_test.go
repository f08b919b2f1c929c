package unordered

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/sim"
)

func of(t *testing.T, with func(*Config)) Config {
	t.Helper()
	return running(t, "permission", with)
}

func running(t *testing.T, name string, with func(*Config)) Config {
	t.Helper()
	protocol, known := sim.Find(name)
	if !known {
		t.Fatalf("there is no protocol %s", name)
	}
	c := Config{Protocol: protocol}
	with(&c)
	return c
}

func explored(t *testing.T, c Config, l Limits) Report {
	t.Helper()
	r, err := Explore(context.Background(), c, l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryOrder checks that under any order of arrival, no two users conflict and none is left waiting. The counts are
// exact: a change of the machines may change them, and shows here.
func TestEveryOrder(t *testing.T) {
	for _, at := range []counted{
		{func(c *Config) { c.Members, c.Users, c.Calls = 1, 2, 2 }, 101},
		{func(c *Config) { c.Members, c.Calls = 2, 3 }, 675},
		{func(*Config) {}, 4556},
		{func(c *Config) { c.Calls, c.Requests, c.Users = 2, 3, 2 }, 682},
		{func(c *Config) { c.Users, c.Capacity = 2, 2 }, 561},
		{func(c *Config) { c.Users, c.Units = 2, 3 }, 397},
		{func(c *Config) { c.Members, c.Users, c.Units = 2, 3, 4 }, 2135},
		{func(c *Config) { c.Members, c.Calls, c.Retain = 2, 3, true }, 421},
		{func(c *Config) { c.Users, c.Calls, c.Retain = 2, 2, true }, 693},
		{func(c *Config) { c.Members, c.Calls, c.Defer = 2, 2, true }, 931},
	} {
		at.check(t, of(t, at.with))
	}
}

// TestEveryOrderOfEnvelopes checks the same where envelopes are taken in turn, and links interleave in every way; and
// where a member crashes at any moment.
func TestEveryOrderOfEnvelopes(t *testing.T) {
	for _, at := range []counted{
		{func(c *Config) { c.Members, c.Users, c.Calls = 1, 2, 2 }, 105},
		{func(c *Config) { c.Members, c.Users, c.Calls = 2, 2, 2 }, 2314},
		{func(c *Config) { c.Members, c.Users, c.Published = 2, 3, true }, 8434},
		{func(c *Config) { c.Users = 2 }, 47845},
		{func(c *Config) { c.Users, c.Crashes = 1, 1 }, 4783},
		{func(c *Config) { c.Users, c.Crashes, c.Published = 1, 1, true }, 9948},
	} {
		if testing.Short() && at.states > 5_000 {
			continue
		}
		at.check(t, running(t, "bakery", at.with))
	}
}

// counted is an exploration, and its number of states.
type counted struct {
	with   func(*Config)
	states int
}

func (at *counted) check(t *testing.T, c Config) {
	t.Helper()
	r := explored(t, c, Limits{})
	if !r.Complete() {
		t.Errorf("%v is not complete: %s, %+v", &r.Config, r.Stopped, r.Found)
	}
	if r.States < at.states/2 || r.States > at.states*2 {
		t.Errorf("%v has %d states; it had about %d", &r.Config, r.States, at.states)
	}
	t.Logf("%v: %d states, %d transitions, runs of up to %d steps", &r.Config, r.States, r.Transitions, r.Depth)
}

// TestPublishedFaultsAreFound checks that with a rule disabled, the search finds the shortest run that breaks a
// promise, and prints it completely. That of snaplock needs no loss and no crash: two masters, and a slow link between
// them.
func TestPublishedFaultsAreFound(t *testing.T) {
	parallel.SkipBrief(t)
	defer mutation.Switch("")
	for _, at := range []struct {
		protocol, rule, promise string
		with                    func(*Config)
		steps                   int
	}{
		{"permission", "clock follows the last message", "P1", func(c *Config) { c.Calls = 2 }, 16},
		{"permission", "a debt is a flag", "P4", func(c *Config) { c.Members, c.Users, c.Units = 2, 3, 4 }, 12},
		{"bakery", "still entering from the own map", "P1", func(c *Config) { c.Users = 2 }, 12},
		{"bakery", "no memory of exited tickets", "P4", func(c *Config) { c.Users = 2 }, 17},
	} {
		mutation.Switch(at.rule)
		r := explored(t, running(t, at.protocol, at.with), Limits{States: 500_000})
		if r.Found == nil || r.Found.Promise != at.promise {
			t.Errorf("without %q: %+v, %s in %d states; want %s", at.rule, r.Found, r.Stopped, r.States, at.promise)
			continue
		}
		if path := r.Found.Path; len(path) != at.steps || !strings.HasPrefix(path[0], "user ") {
			t.Errorf("without %q the shortest run has %d steps; it had %d: %q", at.rule, len(path), at.steps, path)
		}
		t.Logf("without %q: %s, %s in %d states, %d steps", at.rule, r.Found.Promise, r.Found.Detail, r.States, len(r.Found.Path))
	}
}

// TestStops checks that the search stops at its limits, and reports it.
func TestStops(t *testing.T) {
	reports := 0
	c := of(t, func(c *Config) { c.Calls = 2 })
	r := explored(t, c, Limits{States: 3000, Progress: func(Report) { reports++ }})
	if r.Complete() || r.Stopped != "3000 states" || r.States != 3000 || reports == 0 {
		t.Errorf("with at most 3000 states: %d states, stopped by %q, %+v, %d reports", r.States, r.Stopped, r.Found, reports)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Explore(ctx, c, Limits{}); err != nil || r.Complete() || r.Stopped == "" {
		t.Errorf("with a context that is done: %+v, %v", r, err)
	}
}

// TestBadConfig checks that errors name the wrong setting.
func TestBadConfig(t *testing.T) {
	central, _ := sim.Find("central")
	for want, c := range map[string]Config{
		"no peers ask":   {Protocol: central},
		"Members is 6":   of(t, func(c *Config) { c.Members = 6 }),
		"Users is 9":     of(t, func(c *Config) { c.Users = 9 }),
		"Calls -1":       of(t, func(c *Config) { c.Calls = -1 }),
		"Requests is 7":  of(t, func(c *Config) { c.Requests, c.Calls = 7, 2 }),
		"Retain and":     running(t, "bakery", func(c *Config) { c.Retain = true }),
		"Crashes is 2":   running(t, "bakery", func(c *Config) { c.Crashes = 2 }),
		"Crashes is 1,":  of(t, func(c *Config) { c.Crashes = 1 }),
		"Units 1":        of(t, func(c *Config) { c.Units = 1 }),
		"Capacity is 2,": of(t, func(c *Config) { c.Capacity, c.Units = 2, 3 }),
	} {
		if _, err := Explore(context.Background(), c, Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}
}
