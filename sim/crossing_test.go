package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestBreaksActOnce checks that the judge objects to a break that is executed twice, and to no other.
func TestBreaksActOnce(t *testing.T) {
	first := fmt.Sprint(crossingReason, 1)
	for name, tt := range map[string]struct{ promise, reason string }{
		"the same":         {"P6", first},
		"another":          {"", fmt.Sprint(crossingReason, 2)},
		"of a longer name": {"", fmt.Sprint(crossingReason, 11)},
		"without a number": {"", "because it can be done"},
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 1, 0)
			for _, reason := range []string{first, "because it can be done", tt.reason} {
				w.did(w.members[0], protocol.Broke{Name: "n", Reason: reason})
			}
			judgedAs(t, w.judge, tt.promise)
		})
	}
}

// TestBreaksAreDoneAfterATransfer checks that breaks are done after a transfer, also through members that follow the
// former authority; otherwise the run is stuck.
func TestBreaksAreDoneAfterATransfer(t *testing.T) {
	defer mutation.Switch("")
	for rule, want := range map[string]Outcome{"": OK, "refused break not sent again": Stuck} {
		mutation.Switch(rule)
		c := config("grantor")
		c.Faults, c.Members = 0, 3
		result, err := Run(c, 7, nil)
		if err != nil || result.Outcome != want {
			t.Fatalf("without %q: %v %v %v; want %v", rule, result.Outcome, result.Violation, err, want)
		}
		if v := result.Violation; v != nil && (v.Promise != liveness || !strings.Contains(v.Detail, "a break through")) {
			t.Errorf("without %q: %v", rule, v)
		}
	}
}

// TestOperatorsCross checks that in some runs operators break locks while the authority moves, and that some breaks are
// done, some find nothing to break, and some get no answer from an authority.
func TestOperatorsCross(t *testing.T) {
	counts := newCounts(true)
	c := config("grantor")
	c.Faults, c.Coverage = c.Protocol.Faults&Within, true
	for seed := uint64(1); seed <= 20; seed++ {
		result, err := Run(c, seed, nil)
		if err != nil || result.Outcome != OK {
			t.Fatalf("seed %d: %v %v %v", seed, result.Outcome, result.Violation, err)
		}
		sumBy(counts.hits, result.counts.hits)
	}
	for _, what := range []mark{crossedDone, crossedNothing, crossedUnknown} {
		if counts.hits[what] == 0 {
			t.Errorf("%s: never", what.name)
		}
	}
}
