package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestQuotasOfClients checks that clients with a small quota are refused beyond it and never within it, that what they
// are charged returns to nothing, and that each of these three is noticed where it fails.
func TestQuotasOfClients(t *testing.T) {
	manySeeds(t)
	defer mutation.Switch("")
	run := func(rule, promise, detail string) (came map[mark]int, seeds, broken int) {
		mutation.Switch(rule)
		came = map[mark]int{}
		c := config("central")
		c.Duration = 20 * time.Second
		c.Faults = 1<<Loss | 1<<Partition | 1<<Crash | 1<<Pause | 1<<Delay
		for seed := uint64(1); seed <= 300 && broken == 0; seed++ {
			result, err := Run(c, seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			sumBy(came, result.counts.hits)
			switch v := result.Violation; {
			case v == nil:
			case promise == "":
				t.Fatalf("seed %d: %v", seed, v)
			case v.Promise == promise && strings.Contains(v.Detail, detail):
				broken++
			}
			seeds++
		}
		return came, seeds, broken
	}
	came, _, _ := run("", "", "")
	for _, what := range []mark{quotaRefused, quotaFull} {
		if came[what] == 0 {
			t.Errorf("never: %s", what.name)
		}
	}
	for _, at := range []struct{ rule, promise, detail string }{
		{"an owner stays within its quota", "P8", "is not refused one more than"},
		{"what has ended is not charged", "P8", "is refused a request because of its quota of"},
		{"what has ended is not charged", "P4", " charges client"},
	} {
		if _, seeds, broken := run(at.rule, at.promise, at.detail); broken == 0 {
			t.Errorf("without %q no run of %d breaks %s with %q", at.rule, seeds, at.promise, at.detail)
		}
	}
}

// TestQuotasAreDrawn checks that some runs have quotas, for every second client, and none whose messages are counted.
func TestQuotasAreDrawn(t *testing.T) {
	c := config("central")
	c.Faults = Within
	drawn := 0
	for seed := uint64(1); seed <= 200; seed++ {
		w := newWorld(&c, seed, nil, newCounts(false))
		if w.settings.quota > 0 {
			drawn++
		}
		for _, client := range w.clients {
			owner := client.owner()
			if has := owner.Name != ""; has != (w.settings.quota > 0 && client.number%2 == 1 && !client.heir) || has && owner.Quota.Locks != w.settings.quota {
				t.Fatalf("seed %d: %s has the quota %+v of %d", seed, client, owner, w.settings.quota)
			}
		}
	}
	if drawn < 10 || drawn > 50 {
		t.Errorf("%d of 200 runs have quotas", drawn)
	}
	c.Faults = 0
	for seed := uint64(1); seed <= 50; seed++ {
		if w := newWorld(&c, seed, nil, newCounts(false)); w.settings.quota > 0 {
			t.Fatalf("seed %d counts messages, and has quotas", seed)
		}
	}
}
