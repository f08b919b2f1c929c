package explore

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestRulesAreMissed disables rules, and explores until a promise is broken: the counter-example is the shortest one.
// The limits on states leave some room. An endless wait of a user is only known once all states are.
//
//	go test ./sim/explore -run TestRulesAreMissed -v
func TestRulesAreMissed(t *testing.T) {
	for _, at := range []struct {
		rule, protocol string
		with           func(*Config)
		promise        string
		states         int
	}{
		{"exclusion wait off", "election", func(c *Config) { c.Pauses = 1 }, "P1", 200},
		{"role counted on a proposal", "election", func(c *Config) { c.Pauses, c.Losses = 1, 1 }, "P1", 20_000},
		{"same tenure after a lapse", "election", func(c *Config) { c.Pauses = 1 }, "P4", 3_000},
		{"token counter in memory", "central", func(c *Config) { c.Users, c.Names, c.Crashes = 2, 1, 1 }, "P2", 200},
		{"grant told once", "central", func(c *Config) { c.Users, c.Names, c.Losses, c.Dawdles = 2, 1, 1, 1 }, "P4", 10_000},
		{"lent tokens not outrun", "grantor", func(c *Config) { c.Members, c.Users, c.Calls, c.Dawdles, c.HoldOn = 2, 2, 2, 1, time.Second }, "P2", 1_000},
		{"clock follows the last message", "permission", func(c *Config) { c.Users, c.Calls, c.Delays, c.Dawdles = 3, 2, 2, 1 }, "P2", 1_000},
		{"a debt is a flag", "permission", func(c *Config) { c.Members, c.Users, c.Units, c.Dawdles = 2, 3, 4, 2 }, "P4", 3_000},
		{"a member that has left is not waited for", "permission", func(c *Config) { c.Users, c.Pauses, c.Dawdles = 2, 1, 1 }, "P2", 2_000},
		{"a holder replies to an older stamp", "permission", func(c *Config) { c.Users, c.Calls, c.Dawdles, c.Retain = 2, 2, 2, true }, "P3", 1_000},
		{"tokens of the lost not outrun", "permission", func(c *Config) { c.Users, c.Calls, c.Crashes, c.Dawdles, c.Retain = 2, 2, 1, 1, true }, "P2", 5_000},
	} {
		if testing.Short() && at.states > 1000 {
			continue
		}
		t.Run(at.rule, func(t *testing.T) {
			mutation.Switch(at.rule)
			defer mutation.Switch("")
			c := configured(t, at.protocol, at.with)
			r := explored(t, c, Limits{Jobs: 2, States: at.states})
			if r.Found == nil || r.Found.Promise != at.promise {
				t.Fatalf("%d states without the rule show %v; want that %s is broken", r.States, r.Found, at.promise)
			}
			t.Logf("%d states, %d steps: %v", r.States, len(r.Found.Path)-1, &r.Found.Violation)
		})
	}
}

// TestTheFlagIsWhatIsMissed checks that the missing flag, not the missing repetition, breaks the promise: "a debt is a
// flag" disables repetition, too, which alone breaks nothing in any state of the same exploration, in which no message
// is lost.
func TestTheFlagIsWhatIsMissed(t *testing.T) {
	mutation.Switch("request sent once")
	defer mutation.Switch("")
	r := explored(t, configured(t, "permission", func(c *Config) { c.Members, c.Users, c.Units, c.Dawdles = 2, 3, 4, 2 }), Limits{Jobs: 2})
	if r.Found != nil || !r.Complete() {
		t.Errorf("%d states, complete %v, show %v; want all of them, and nothing", r.States, r.Complete(), r.Found)
	}
}

// TestRenamingHidesNothing checks that with a rule disabled, the shortest run to a violation is as long with states in
// canonical form as with exact ones, and breaks the same promise; with all rules on, neither finds one.
func TestRenamingHidesNothing(t *testing.T) {
	parallel.SkipBrief(t)
	for _, rule := range []string{"exclusion wait off", ""} {
		mutation.Switch(rule)
		var found [2]*Found
		for i, exact := range []bool{false, true} {
			r, err := Explore(t.Context(), configured(t, "election", func(c *Config) { c.Pauses, c.Depth, c.Exact = 1, 30, exact }), Limits{Jobs: 2})
			if err != nil {
				t.Error(err)
			}
			found[i] = r.Found
		}
		mutation.Switch("")
		canonical, exact := found[0], found[1]
		switch {
		case (canonical == nil) != (exact == nil), (canonical != nil) != (rule != ""):
			t.Errorf("%q: %v in canonical form, %v exactly", rule, canonical, exact)
		case canonical != nil && (len(canonical.Path) != len(exact.Path) || canonical.Promise != exact.Promise):
			t.Errorf("%q: %s after %d steps in canonical form, %s after %d exactly", rule, canonical.Promise, len(canonical.Path), exact.Promise, len(exact.Path))
		}
	}
}

// TestReductionsHideNothing checks that explorations that compare states by all fields, and visit every one of them,
// have the same result as the reduced ones.
func TestReductionsHideNothing(t *testing.T) {
	parallel.SkipBrief(t)
	for _, at := range []struct {
		rule, protocol string
		with           func(*Config)
		fewer          int // by which factor, at least
	}{
		{"", "election", func(c *Config) { c.Losses = 1 }, 20},
		{"", "election", func(c *Config) { c.Delays = 1 }, 8},
		{"", "central", func(c *Config) { c.Users, c.Dawdles = 1, 1 }, 4},
		{"exclusion wait off", "election", func(c *Config) { c.Pauses = 1 }, 4},
	} {
		mutation.Switch(at.rule)
		var found [2]Report
		for i, unreduced := range []bool{false, true} {
			r, err := Explore(t.Context(), configured(t, at.protocol, func(c *Config) { at.with(c); c.Unreduced = unreduced }), Limits{Jobs: 2})
			if err != nil {
				t.Error(err)
			}
			found[i] = r
		}
		mutation.Switch("")
		few, all := &found[0], &found[1]
		if few.Complete() != (at.rule == "") || few.Complete() != all.Complete() || !few.Complete() && few.Found.Promise != all.Found.Promise {
			t.Errorf("%q: %+v with reductions, %+v without", at.rule, few.Found, all.Found)
		}
		if few.States*at.fewer > all.States {
			t.Errorf("%v, %q: %d states with reductions, %d without; want a factor of %d", &few.Config, at.rule, few.States, all.States, at.fewer)
		}
	}
}

// TestCounterExamplesArePrinted checks that the trace has the events, their times, and the violation.
func TestCounterExamplesArePrinted(t *testing.T) {
	mutation.Switch("exclusion wait off")
	defer mutation.Switch("")
	r := explored(t, configured(t, "election", func(c *Config) { c.Pauses = 1 }), Limits{Jobs: 2})
	checkTrace(t, &r, "has formed", "m1 is paused", "m2 wakes", "P1: m1 may grant in epoch")
}
