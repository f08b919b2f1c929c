package sim

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestDeadlocks lets users ask to be refused in a deadlock, under all faults: cycles come up in each protocol that finds
// them, replicas agree about who is refused, and no check fails.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	for _, protocol := range []string{"central", "grantor", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := config(protocol)
			c.Bias = Bias{Deadlocks: true}
			s, err := RunMany(c, 1, 60, runtime.GOMAXPROCS(0), nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Worst != nil {
				t.Fatalf("seed %d: %v %v\n%s", s.Worst.Seed, s.Worst.Outcome, s.Worst.Violation, s.Worst.Settings)
			}
			if s.counts.deadlocks == 0 {
				t.Error("no request was refused because of a deadlock")
			}
		})
	}
}

// TestTheJudgeSeesDeadlocks checks that a refusal that its user has not asked for, or whose cycle is none, is a violation.
func TestTheJudgeSeesDeadlocks(t *testing.T) {
	cycle := func(steps ...holdfast.DeadlockStep) error {
		return fmt.Errorf("refused: %w", &holdfast.DeadlockError{Cycle: steps})
	}
	mine, other := holdfast.DeadlockStep{Session: "1-1", Name: "n"}, holdfast.DeadlockStep{Session: "1-2", Name: "o"}
	for name, tt := range map[string]struct {
		policy  holdfast.DeadlockPolicy
		err     error
		promise string
	}{
		"a cycle of two":          {holdfast.Fail, cycle(mine, other), ""},
		"an outcome alone":        {holdfast.Fail, holdfast.ErrDeadlock, ""},
		"not asked for":           {holdfast.Ignore, cycle(mine, other), "P4"},
		"of one":                  {holdfast.Fail, cycle(mine), "P4"},
		"of another request":      {holdfast.Fail, cycle(other, mine), "P4"},
		"that comes to one twice": {holdfast.Fail, cycle(mine, other, other), "P4"},
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(tt.err, holdfast.ErrDeadlock) {
				t.Fatal(tt.err)
			}
			j := newWitness().judge
			j.deadlocked(&request{client: &client{name: "c0"}, want: wantedLock{name: "n", deadlock: tt.policy}}, tt.err)
			judgedAs(t, j, tt.promise)
		})
	}
}
