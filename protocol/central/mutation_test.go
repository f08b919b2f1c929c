package central_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// budget is the number of random runs within which a disabled rule must be noticed.
const budget = 3000

// TestMutationsAreFound checks that with one rule disabled the promises' own checks find a violation, and that with all
// rules on the same runs find none.
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

// TestLateCopiesAreAskedAnew checks that with the rule disabled the conversation about late copies changes, and not
// before the first of them comes.
func TestLateCopiesAreAskedAnew(t *testing.T) {
	const rule = "late copy asked anew"
	defer mutation.Switch("")
	with, without := protocoltest.New(t, central.Descriptor()), protocoltest.New(t, central.Descriptor())
	line, otherwise := 0, 0
	golden.PlayFile(t, "testdata/late_copies.txt", func(l *golden.Line) string {
		text := l.Text()
		mutation.Switch("")
		said := with.Play(l)
		line++
		if otherwise == 0 {
			mutation.Switch(rule)
			if without.Say(text) != said {
				otherwise = line
			}
		}
		return said
	})
	if otherwise <= 3 { // those begin the cluster
		t.Errorf("line %d of the conversation is the first that goes otherwise without the rule; want one after the third", otherwise)
	}
}
