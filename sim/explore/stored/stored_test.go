package stored

import (
	"context"
	"testing"

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
		told, err := Play(c, r.Found.Choices)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range told {
			t.Log(line)
		}
	}
	return r
}

// TestNothingIsFound within small bounds.
func TestNothingIsFound(t *testing.T) {
	for _, c := range []Config{
		{Watch: true, Calls: 1, Slow: 1}, {CAS: true, Watch: true, Calls: 1, Slow: 1}, {Watch: true, Spread: 3}, {Spread: 3, Calls: 1, Slow: 1}, {CAS: true, Spread: 3},
	} {
		if r := explored(t, c); r.Found != nil || r.Stopped || r.Runs < 20 {
			t.Errorf("%v: %+v", &c, r)
		}
	}
}

// TestRulesOffAreFound: a rule that these runs can show breaks a promise in one of them.
func TestRulesOffAreFound(t *testing.T) {
	for rule, c := range map[string]Config{
		"a write may take less than the wait by the skew": {Watch: true, Calls: 1, Slow: 1},
	} {
		mutation.Switch(rule)
		r := explored(t, c)
		mutation.Switch("")
		if r.Found == nil {
			t.Errorf("%v without the rule %q: nothing is found in %d runs", &c, rule, r.Runs)
			continue
		}
		if told, err := Play(c, r.Found.Choices); err != nil || len(told) < 10 {
			t.Errorf("the run is not told: %v %v", told, err)
		}
	}
}

// TestConfigIsChecked, with what is allowed.
func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{{Calls: 5}, {Calls: -1}, {Slow: 3}, {Slow: -1}, {Spread: -1}, {Spread: 101}} {
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
