package sim

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// observedState is a state with holders of these tokens: exclusive, or shared.
func observedState(mode schema.Mode, missed bool, tokens ...uint64) *schema.Observed {
	state := &schema.Observed{Missed: missed}
	for _, token := range tokens {
		state.Holders = append(state.Holders, &schema.Grant{Token: token, Mode: mode})
	}
	return state
}

// TestTheJudgeSeesStates checks which sequences of states break what an observer is promised. Members have granted the
// tokens 3 to 7 after the first state.
func TestTheJudgeSeesStates(t *testing.T) {
	const exclusive, shared = schema.Mode_MODE_EXCLUSIVE, schema.Mode_MODE_SHARED
	free := observedState(exclusive, false)
	only := func(token uint64) *schema.Observed { return observedState(exclusive, false, token) }
	for name, tt := range map[string]struct {
		states  []*schema.Observed
		promise string
	}{
		"all, in order":                   {[]*schema.Observed{only(3), free, only(4), free, only(5), only(6), free, only(7), free}, ""},
		"two at a time":                   {[]*schema.Observed{observedState(exclusive, false, 3, 4)}, "P12"},
		"two that share":                  {[]*schema.Observed{observedState(shared, false, 3, 4)}, ""},
		"one that has ended":              {[]*schema.Observed{only(3), free, only(3)}, "P12"},
		"an earlier one":                  {[]*schema.Observed{only(3), only(5), only(4)}, "P12"},
		"one that was past at first":      {[]*schema.Observed{only(2)}, "P12"},
		"one too few":                     {[]*schema.Observed{only(3), free, only(5)}, "P12"},
		"one too few, reported":           {[]*schema.Observed{only(3), only(5), observedState(exclusive, true, 6)}, ""},
		"one that shares, after a later":  {[]*schema.Observed{observedState(shared, false, 4), observedState(shared, false, 3, 4)}, ""},
		"one too few, reported too early": {[]*schema.Observed{observedState(exclusive, true), only(3)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{protocol: &Protocol{}, judge: newWitness().judge, count: newCounts(false)}
			o := &observer{world: w, name: "n", shown: map[uint64]bool{}, base: 2, granted: []uint64{2}}
			o.check(free)
			o.granted = []uint64{2, 3, 4, 5, 6, 7}
			for _, state := range tt.states {
				if w.judge.violation == nil {
					o.check(state)
				}
			}
			o.settled()
			judgedAs(t, w.judge, tt.promise)
		})
	}
}

// TestObserversAreShown runs some seeds of each protocol with an observer: states are shown, and gaps are reported.
func TestObserversAreShown(t *testing.T) {
	for _, name := range []string{"central", "permission", "consensus", "claim"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := Find(name)
			c := Config{Protocol: p, Faults: Within, Bias: Bias{Observers: true}, Coverage: true}
			shown, gaps := 0, 0
			for seed := range uint64(30) {
				result, err := Run(c, seed+1, nil)
				if err != nil || result.Outcome != OK {
					t.Fatalf("seed %d: %v %v, %v", seed+1, result.Outcome, result.Violation, err)
				}
				shown += int(result.counts.hits[observedGrant])
				gaps += int(result.counts.hits[observedGap])
			}
			if shown == 0 || gaps == 0 {
				t.Errorf("%d grants were shown, and %d gaps reported", shown, gaps)
			}
		})
	}
}

// TestObserverInAScript: a recorded run with an observer is played again from its script.
func TestObserverInAScript(t *testing.T) {
	p, _ := Find("central")
	c := Config{Protocol: p, Faults: Within, Bias: Bias{Observers: true}}
	script, result, err := Record(c, 5, nil)
	if err != nil || result.Outcome != OK {
		t.Fatal(result.Outcome, result.Violation, err)
	}
	if !slices.ContainsFunc(script.Choices, func(c Choice) bool { return c.who == "observer" && c.what == "hears" }) {
		t.Error("the script has no choices of the observer")
	}
	parsed, _, err := ParseScript(script.String())
	if err != nil || !parsed.Observer {
		t.Fatalf("the script, parsed again: %v, observer %v", err, parsed.Observer)
	}
	played, err := Play(parsed, Stage{Protocol: p})
	if err != nil || played.Outcome != OK || played.Steps != result.Steps {
		t.Errorf("played again, it ends with %v %v after %d steps of %d: %v", played.Outcome, played.Violation, played.Steps, result.Steps, err)
	}
}
