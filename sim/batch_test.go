package sim

import (
	"context"
	"testing"
	"time"
)

// TestRunUntilEndsWithItsTime checks that runs in progress count, that each job has at least one, and that the first
// failure ends all, with no lower seed left out.
func TestRunUntilEndsWithItsTime(t *testing.T) {
	over, stop := context.WithCancel(t.Context())
	stop()
	c := config("election")
	summary, err := RunUntil(over, c, 1<<50, 3, nil)
	if err != nil || summary.Worst != nil || summary.Seeds < 1 || summary.Seeds > 3 || summary.First != 1<<50 {
		t.Fatalf("%+v, %v; want one to three seeds", summary, err)
	}
	c = config("central")
	c.Faults = 1 << DriftBeyond
	var seeds []uint64
	summary, err = RunUntil(t.Context(), c, 1, 2, func(r *Result) { seeds = append(seeds, r.Seed) })
	if err != nil || summary.Worst == nil || summary.Worst.Seed != uint64(summary.Seeds) {
		t.Fatalf("%+v, %v; want a seed that fails, and all before it", summary, err)
	}
	for i, seed := range seeds {
		if seed != uint64(i+1) {
			t.Fatalf("seeds %v; want all in order", seeds)
		}
	}
}

// TestRunsShareNothing checks that the runs of each protocol are the same, however many run at a time.
func TestRunsShareNothing(t *testing.T) {
	for _, p := range Protocols() {
		c := config(p.Name)
		c.Duration = 10 * time.Second
		alone, err := RunMany(c, 1, 4, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		together, err := RunMany(c, 1, 4, 4, nil)
		if err != nil {
			t.Fatal(err)
		}
		if alone.Steps == 0 || alone.Steps != together.Steps || alone.Grants() != together.Grants() {
			t.Errorf("%s: %d steps and %d grants one after another, %d and %d at a time", p.Name, alone.Steps, alone.Grants(), together.Steps, together.Grants())
		}
	}
}
