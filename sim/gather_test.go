package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestNamesAreTakenTogether checks that gatherers get their names at once, after a wait and not at all, and hold
// nothing behind a name that they wait for; without the rule two of them wait for each other.
func TestNamesAreTakenTogether(t *testing.T) {
	manySeeds(t)
	defer mutation.Switch("")
	run := func(until int) (came map[mark]int, broken int) {
		came = map[mark]int{}
		c := config("consensus")
		c.Duration = 25 * time.Second
		c.Faults = 1<<Loss | 1<<Partition | 1<<Crash | 1<<Operator
		for seed := uint64(1); seed <= 40 && (until == 0 || broken < until); seed++ {
			result, err := Run(c, seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			sumBy(came, result.counts.hits)
			if v := result.Violation; v != nil {
				broken++
				if v.Promise != "P4" || !strings.Contains(v.Detail, "has not had all names together: it has ") {
					t.Fatalf("seed %d: %v", seed, v)
				}
			}
		}
		return came, broken
	}
	mutation.Switch("")
	came, broken := run(0)
	for _, what := range []mark{togetherAll, togetherWaited, togetherBehind, togetherGivenUp, togetherLost, togetherRefused} {
		if came[what] == 0 {
			t.Errorf("never: %s", what.name)
		}
	}
	if broken > 0 {
		t.Errorf("%d runs are broken", broken)
	}
	mutation.Switch("nothing is held behind a name that is waited for")
	if _, broken := run(1); broken == 0 {
		t.Error("no run is broken without the rule")
	}
}
