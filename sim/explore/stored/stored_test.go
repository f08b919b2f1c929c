package stored

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

func explored(t *testing.T, c Config) Report {
	t.Helper()
	r, err := Explore(context.Background(), c, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %d runs, %d steps, in %v", &r.Config, r.Runs, r.Steps, r.Elapsed)
	if r.Found != nil {
		lines, err := Play(c, r.Found.Choices)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			t.Log(line)
		}
	}
	return r
}

// TestNothingIsFound checks that explorations within small bounds find nothing.
func TestNothingIsFound(t *testing.T) {
	for i, c := range []Config{
		{Watch: true, Calls: 1, Slow: 1}, {CAS: true, Watch: true, Calls: 1, Slow: 1}, {Watch: true, Spread: 3}, {Spread: 3, Calls: 1, Slow: 1}, {CAS: true, Spread: 3},
		{CAS: true, HoldOn: 6 * quantum, Watch: true, Spread: 3}, {CAS: true, HoldOn: 5 * quantum, Spread: 3}, {CAS: true, HoldOn: 6 * quantum, Watch: true, Crashes: 1, Spread: 1},
		{Watch: true, Calls: 1, Crashes: 1}, {Calls: 1, Crashes: 1}, {CAS: true, Watch: true, Calls: 1, Crashes: 1}, {CAS: true, Calls: 1, Crashes: 1},
		{Values: true, Watch: true, Calls: 1, Slow: 1}, {Values: true, CAS: true, Watch: true, Calls: 1, Slow: 1}, {Values: true, CAS: true, HoldOn: 6 * quantum, Watch: true, Spread: 3},
		{Values: true, Calls: 1, Crashes: 1, Spread: 3}, {Values: true, CAS: true, Spread: 3}, {Values: true, Watch: true, Spread: 3},
	} {
		if testing.Short() && i%4 != 0 {
			continue
		}
		if r := explored(t, c); r.Found != nil || r.Stopped || r.Runs < 20 {
			t.Errorf("%v: %+v", &c, r)
		}
	}
}

// TestProcessesCrashAnywhere checks that processes crash before they ask, while they claim and while they hold, with
// all delays until they start again, and that others wait for what they leave behind as long as it may count.
func TestProcessesCrashAnywhere(t *testing.T) {
	for _, cas := range []bool{false, true} {
		c := &Config{CAS: cas, Watch: true, Calls: 1, Crashes: 1, Spread: 1}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for first := range c.starts() {
			for path := []int{first}; path != nil; {
				w, broken := tellingly(c, path)
				if broken != nil {
					t.Fatalf("%s: %s\n%s", broken.promise, broken.detail, strings.Join(w.lines, "\n"))
				}
				at := slices.IndexFunc(w.lines, func(line string) bool { return strings.Contains(line, " crashes, ") })
				if at < 0 {
					seen["no process"]++
				} else {
					seen[kindOf(t, w.lines, at)]++
					seen[w.lines[at][strings.Index(w.lines[at], "after "):]]++
				}
				path = w.next()
			}
		}
		for _, kind := range []string{"no process", "idle", "claiming", "holding", "released", "after 0s", "after 10ms", "after 66ms"} {
			if seen[kind] == 0 {
				t.Errorf("cas=%v: in no run it is %q: %v", cas, kind, seen)
			}
		}
	}
}

// kindOf describes what a process was doing when it crashed. If it held, no user gets the lock soon: others wait for
// its claim, of which two thirds were left, less W and the time for which it has held. All are served in the end.
func kindOf(t *testing.T, lines []string, at int) string {
	who := strings.TrimPrefix(strings.Fields(lines[at])[1], "p")
	latest := func(what string) int { // of its user's lines
		before := -1
		for i, line := range lines[:at] {
			if strings.Contains(line, "user "+who+" "+what) {
				before = i
			}
		}
		return before
	}
	kind := "claiming"
	switch given := latest("gives it back"); {
	case latest("wants the lock") == at-1:
		kind = "idle" // its machine has not heard of that
	case latest("has the lock") >= 0 && (given < 0 || given == at-1):
		kind = "holding"
	case given >= 0:
		kind = "released"
	}
	served := false
	for _, line := range lines[at:] {
		if !strings.Contains(line, " has the lock, token ") {
			continue
		}
		served = true
		if after := elapsed(t, line) - elapsed(t, lines[at]); kind == "holding" && after < expiry/4 {
			t.Errorf("the lock is had again after %v though its holder has crashed:\n%s", after, strings.Join(lines, "\n"))
		}
	}
	if !served {
		t.Errorf("no process has the lock after the crash:\n%s", strings.Join(lines, "\n"))
	}
	return kind
}

// elapsed is the time at the beginning of a line.
func elapsed(t *testing.T, line string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWhatIsKeptIsGivenAgain checks that a kept lock is granted again without a write if its user returns in time, and
// that later the other process, which has waited, gets it.
func TestWhatIsKeptIsGivenAgain(t *testing.T) {
	for holdOn, seldom := range map[time.Duration]bool{6 * quantum: false, 3 * quantum: true} {
		c := &Config{CAS: true, HoldOn: holdOn, Watch: true, Calls: 3, Spread: 1}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		again, anew, yielded := uint64(0), uint64(0), uint64(0)
		for first := range c.starts() {
			for path := []int{first}; path != nil; {
				w, broken := play(c, path)
				if broken != nil {
					t.Fatalf("%s: %s", broken.promise, broken.detail)
				}
				for _, m := range w.members {
					for i, total := range []*uint64{&again, &anew, &yielded} {
						*total += c.Protocol.Kept[i].Count(m.machine)
					}
				}
				path = w.next()
			}
		}
		if again == 0 || anew == 0 || seldom && yielded == 0 {
			t.Errorf("hold_on=%v: %d grants without a write, %d written anew, %d cells given back to who has waited", holdOn, again, anew, yielded)
		}
	}
}

// TestRulesOffAreFound checks that each disabled rule that these runs can show breaks a promise in one of them.
func TestRulesOffAreFound(t *testing.T) {
	for rule, c := range map[string]Config{
		"a write may take less than the wait by the skew": {Watch: true, Calls: 1, Slow: 1},
		"a value is set when the store has it":            {Values: true, Watch: true, Calls: 1},
		"a cell names the last token that it is kept for": {CAS: true, HoldOn: 6 * quantum, Watch: true, Crashes: 1},
	} {
		mutation.Switch(rule)
		r := explored(t, c)
		mutation.Switch("")
		if r.Found == nil {
			t.Errorf("%v without the rule %q: nothing is found in %d runs", &c, rule, r.Runs)
			continue
		}
		if lines, err := Play(c, r.Found.Choices); err != nil || len(lines) < 10 {
			t.Errorf("the run has no lines: %v %v", lines, err)
		}
	}
}

// TestConfigIsChecked checks that errors have the allowed values.
func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{{Calls: 5}, {Calls: -1}, {Slow: 3}, {Slow: -1}, {Crashes: 3}, {Crashes: -1}, {Spread: -1}, {Spread: 101}, {HoldOn: quantum}, {CAS: true, HoldOn: 7 * quantum}, {CAS: true, HoldOn: -1}} {
		if _, err := Explore(context.Background(), c, 1); err == nil {
			t.Errorf("%+v is allowed", c)
		}
		if _, err := Play(c, nil); err == nil {
			t.Errorf("%+v is allowed", c)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if r, err := Explore(ctx, Config{}, 1); err != nil || !r.Stopped {
		t.Errorf("%+v %v; want that it was stopped", r, err)
	}
}
