package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestHolesBite switches each rule off and demands that the checks find what follows.
func TestHolesBite(t *testing.T) {
	defer mutation.Switch("")
	seeds := number("HOLDFAST_SEEDS", 2000)
	for _, hole := range append(holes(), pledgeHoles()...) {
		t.Run(hole.name, func(t *testing.T) {
			if testing.Short() && (hole.play == nil || hole.rule == "the coordinator alone records") {
				t.Skip("it plays many storms; run without -short")
			}
			mutation.Switch(hole.rule)
			if hole.play != nil {
				if what := hole.play(t); what == "" {
					t.Errorf("without the rule %q nothing goes wrong", hole.rule)
				} else {
					t.Logf("%.200s", what)
				}
				return
			}
			for seed := uint64(1); seed <= seeds; seed++ {
				what := weather(t, seed, false)
				if what == "" {
					continue
				}
				t.Logf("seed %d: %.200s", seed, what)
				mutation.Switch("")
				if what := weather(t, seed, false); what != "" {
					t.Errorf("seed %d goes wrong with every rule in place: %s", seed, what)
				}
				return
			}
			t.Errorf("without the rule %q nothing goes wrong in %d storms", hole.rule, seeds)
		})
	}
}
