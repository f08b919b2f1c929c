package central_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// budget is within how many random runs a rule that is switched off must be noticed.
const budget = 3000

// TestMutationsAreFound: with one rule off the promises' own checks find a violation,
// and with all rules on the same runs find none.
func TestMutationsAreFound(t *testing.T) {
	for _, rule := range []string{"epoch check off", "unconfirmed grants renewed", "token counter in memory", "H3", "H4"} {
		t.Run(rule, func(t *testing.T) {
			mutation.Switch(rule)
			defer mutation.Switch("")
			for seed := uint64(1); seed <= budget; seed++ {
				if failed, _ := play(seed, func(string, ...any) {}); failed != "" {
					t.Logf("found by seed %d: %s", seed, failed)
					return
				}
			}
			t.Errorf("not found in %d runs", budget)
		})
	}
}
