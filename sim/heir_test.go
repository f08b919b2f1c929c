package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
)

// TestASessionHasOneClient checks that sessions are taken over, and that their previous clients are notified or
// refused, or end at their deadlines. Without the first rule they take their sessions back; without the second, a lock
// that a later client gives up is granted while they believe in it.
func TestASessionHasOneClient(t *testing.T) {
	manySeeds(t)
	defer mutation.Switch("")
	for _, protocol := range []string{"central", "consensus"} {
		run := func(promise, detail string) (came map[mark]int, broken int) {
			came = map[mark]int{}
			c := config(protocol)
			c.Faults, c.Coverage = 1<<Operator|1<<Partition|1<<Crash|1<<Pause, true
			for seed := uint64(1); seed <= 32 && (promise == "" || broken == 0); seed++ {
				result, err := Run(c, seed, nil)
				if err != nil {
					t.Fatal(err)
				}
				sumBy(came, result.counts.hits)
				if v := result.Violation; v != nil {
					broken++
					if v.Promise != promise || !strings.Contains(v.Detail, detail) {
						t.Fatalf("seed %d: %v", seed, v)
					}
				}
			}
			return came, broken
		}
		mutation.Switch("")
		came, broken := run("", "")
		for _, what := range []mark{inheritedTaken, inheritedNotified, inheritedLate, inheritedGiven} {
			if came[what] == 0 {
				t.Errorf("%s: never: %s", protocol, what.name)
			}
		}
		if broken > 0 {
			t.Errorf("%s: %d runs are broken", protocol, broken)
		}
		mutation.Switch("an earlier client is refused")
		if _, broken := run("P1", "another client has taken that over"); broken == 0 {
			t.Errorf("%s: no run is broken without the rule", protocol)
		}
		mutation.Switch("an inherited name is kept for the client before")
		if _, broken := run("P3", "and knows of no loss"); broken == 0 {
			t.Errorf("%s: no inherited name is granted without the rule", protocol)
		}
	}
}

// TestTheJudgeSeesWhoUsesASession checks that only messages that a client sent before another one took its session over
// may be answered.
func TestTheJudgeSeesWhoUsesASession(t *testing.T) {
	for name, tt := range map[string]struct {
		sent    instant
		promise string
	}{"before": {1000, ""}, "behind": {1001, "P1"}} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 1, 2)
			w.judge.users = map[lock.SessionID]*usage{}
			first, second, id := w.clients[0], w.clients[1], lock.SessionID{Member: 1, Number: 1}
			w.now = 1000
			w.judge.renews(id, first, 500)
			w.judge.renews(id, second, 600)
			w.judge.renews(id, first, tt.sent)
			w.judge.renews(id, second, 2000)
			judgedAs(t, w.judge, tt.promise)
		})
	}
}
