package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestABurstIsAnswered checks that a member that lags by more envelopes than are resent at a time catches up, and that
// without the rule a burst of requests is not answered in time.
func TestABurstIsAnswered(t *testing.T) {
	manySeeds(t)
	defer mutation.Switch("")
	run := func(until int) (behind, caughtUp, broken int) {
		c := config("bakery")
		c.Faults = 1 << Loss
		for seed := uint64(1); seed <= 40 && (until == 0 || broken < until); seed++ {
			result, err := Run(c, seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			behind += result.counts.hits[leadBehind]
			caughtUp += result.counts.hits[leadCaughtUp]
			if v := result.Violation; v != nil {
				broken++
				if v.Promise != "P4" || !strings.Contains(v.Detail, "that crowd has made at once are not answered") {
					t.Fatalf("seed %d: %v", seed, v)
				}
			}
		}
		return behind, caughtUp, broken
	}
	mutation.Switch("")
	if behind, caughtUp, broken := run(0); behind == 0 || caughtUp == 0 || broken > 0 {
		t.Errorf("%d times a link was behind, and %d times it has caught up; %d runs are broken", behind, caughtUp, broken)
	}
	mutation.Switch("a link catches up")
	if _, _, broken := run(1); broken == 0 {
		t.Error("no run is broken without the rule")
	}
}
