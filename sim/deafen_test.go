package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestADeafLeaderLeavesNoHold checks that no name stays held when a leader that hears no other member refuses requests
// that its client has listed in a hello to another one; without the rule one is held without a client that knows of it.
func TestADeafLeaderLeavesNoHold(t *testing.T) {
	manySeeds(t)
	defer mutation.Switch("")
	run := func(rule string, first, last uint64) (requested, refused, broken int) {
		mutation.Switch(rule)
		c := config("consensus")
		c.Faults, c.Bias, c.Duration = 1<<Crash|1<<OneWay, Bias{AllFaults: true}, usualDuration
		for seed := first; seed <= last; seed++ {
			if newWorld(&c, seed, nil, newCounts(false)).settings.deafens == 0 {
				continue
			}
			result, err := Run(c, seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			requested += result.counts.hits[deafRequested]
			refused += result.counts.hits[deafRefused]
			if v := result.Violation; v != nil {
				broken++
				if v.Promise != "P4" || !strings.Contains(v.Detail, "names are held or wanted") {
					t.Fatalf("seed %d: %v", seed, v)
				}
			}
		}
		return requested, refused, broken
	}
	if requested, refused, broken := run("", 185, 210); requested == 0 || refused == 0 || broken > 0 {
		t.Errorf("%d times a client asked a leader that hears no member, and %d requests were refused behind a hello; %d runs are broken", requested, refused, broken)
	}
	if _, _, broken := run("what is refused behind a hello is cancelled", 185, 210); broken == 0 {
		t.Error("no run is broken without the rule")
	}
}
