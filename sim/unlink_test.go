package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestWhoIsBehindACutLinkIsServed checks that users behind a cut link are served, and that the run fails if no other
// member forwards their messages.
func TestWhoIsBehindACutLinkIsServed(t *testing.T) {
	manySeeds(t)
	protocol, _ := Find("consensus")
	run := func(seed uint64) Result {
		result, err := Run(Config{Protocol: protocol, Faults: 1<<OneWay | 1<<Partition, Duration: 1e9}, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	defer mutation.Switch("")
	cut, found := 0, 0
	for seed := uint64(1); seed <= 30; seed++ {
		kept := run(seed)
		if kept.Outcome != OK {
			t.Fatalf("seed %d: %v %v", seed, kept.Outcome, kept.Violation)
		}
		cut += kept.counts.hits[unlinked]
		mutation.Switch("an unheard leader is reached through the coordinator")
		without := run(seed)
		mutation.Switch("")
		if without.Outcome == Stuck && strings.Contains(without.Violation.Detail, "which decided, was cut; others hear both") {
			found++
		}
	}
	if cut < 5 || found == 0 || found > cut {
		t.Errorf("in %d of 30 runs a link was cut; without the rule a user was not served in %d", cut, found)
	}
}
