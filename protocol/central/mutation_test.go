package central_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// budget is within how many random runs a rule that is switched off must be noticed.
const budget = 3000

// TestMutationsAreFound: with one rule off the promises' own checks find a violation,
// and with all rules on the same runs find none.
func TestMutationsAreFound(t *testing.T) {
	for _, rule := range []string{"epoch check off", "unconfirmed grants renewed", "token counter in memory", "H3", "H4"} {
		t.Run(rule, func(t *testing.T) {
			mutation.Switch(rule)
			defer mutation.Switch("")
			for seed := uint64(1); seed <= budget; seed++ {
				if failed, _ := play(seed, func(string, ...any) {}); failed != "" {
					t.Logf("found by seed %d: %s", seed, failed)
					return
				}
			}
			t.Errorf("not found in %d runs", budget)
		})
	}
}

// TestLateCopiesAreAskedAnew: with the rule off the conversation about copies that come late goes
// otherwise, and not before the first of them comes.
func TestLateCopiesAreAskedAnew(t *testing.T) {
	const rule = "late copy asked anew"
	defer mutation.Switch("")
	with, without := protocoltest.New(t, central.Descriptor()), protocoltest.New(t, central.Descriptor())
	part, otherwise := 0, 0
	datadriven.RunTest(t, "testdata/late_copies.txt", func(t *testing.T, d *datadriven.TestData) string {
		for _, line := range protocoltest.Lines(d) {
			mutation.Switch("")
			with.Say(line)
			if otherwise == 0 {
				mutation.Switch(rule)
				without.Say(line)
			}
		}
		said := with.Said()
		if part++; otherwise == 0 && without.Said() != said {
			otherwise = part
		}
		return said
	})
	if otherwise < 2 {
		t.Errorf("part %d of the conversation is the first that goes otherwise without the rule; want the second or a later one", otherwise)
	}
}
