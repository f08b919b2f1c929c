package sim

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// TestDeadlocks lets users ask to be refused in a deadlock, under all faults: cycles come up in each protocol that finds
// them, replicas agree about who is refused, and no check fails.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	for _, name := range []string{"central", "grantor", "consensus"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(name)
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

// TestTheJudgeSeesCycles checks that a table that leaves an owner in a cycle, which would rather fail, is a violation.
func TestTheJudgeSeesCycles(t *testing.T) {
	one, two := lock.SessionID{Member: 1, Number: 1}, lock.SessionID{Member: 1, Number: 2}
	entry := func(name string, s lock.SessionID, request uint64, token holdfast.Token) lock.Entry {
		return lock.Entry{Name: name, Session: s, Request: request, Token: token, Left: lock.Never}
	}
	willing := func(e lock.Entry) lock.Entry {
		e.Deadlock = holdfast.Fail
		return e
	}
	for name, tt := range map[string]struct {
		second  lock.Entry // in the queue of the second name
		promise string
	}{
		"a cycle of those that wait regardless": {entry("b", one, 3, 0), ""},
		"a wait without a cycle":                {willing(entry("b", lock.SessionID{Member: 1, Number: 3}, 3, 0)), ""},
		"one would rather fail":                 {willing(entry("b", one, 3, 0)), "P4"},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := lock.New(lock.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := table.Restore(time.Second, lock.Chunk{Reign: 1, Count: 2, Entries: []lock.Entry{
				entry("a", one, 1, lock.Token(1, 1)), entry("a", two, 4, 0), entry("b", two, 2, lock.Token(1, 2)), tt.second,
			}}); err != nil {
				t.Fatal(err)
			}
			w := still(t, 3, 0)
			forged := *w.protocol
			forged.Tables = func(protocol.Machine, protocol.Time) []probe.Table {
				return []probe.Table{{Table: table, Now: time.Second}}
			}
			w.protocol, w.settings.willing = &forged, 1
			w.steps = 8 // it looks at one step of eight
			w.checkCycles(w.members[0])
			judgedAs(t, w.judge, tt.promise)
		})
	}
}
