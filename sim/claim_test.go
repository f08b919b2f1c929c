package sim

import (
	"slices"
	"testing"
)

// TestClaimsNeedTheirBounds checks that the limits of claims show: with clocks further apart than the configured skew,
// two users hold one lock, or tokens go back; within it the same seeds find nothing.
func TestClaimsNeedTheirBounds(t *testing.T) {
	manySeeds(t)
	t.Parallel()
	const seeds = 30
	failed := 0
	for seed := uint64(1); seed <= seeds; seed++ {
		c := config("claim")
		if result, err := Run(c, seed, nil); err != nil || result.Violation != nil {
			t.Errorf("seed %d, within the bounds: %v %v", seed, result.Violation, err)
		}
		c.Faults = Beyond
		result, err := Run(c, seed, nil)
		switch broken := result.Violation; {
		case err != nil:
			t.Errorf("seed %d, beyond the bounds: %v", seed, err)
		case broken == nil:
		case slices.Contains([]string{"P1", "P2", "P3"}, broken.Promise):
			failed++
		default:
			t.Errorf("seed %d, beyond the bounds: %v", seed, broken)
		}
	}
	if failed == 0 {
		t.Errorf("none of %d seeds beyond the bounds has broken anything", seeds)
	}
}
