package sim

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// TestCallsActOnce checks that a second grant for one call of a visitor breaks a promise, and that a repeated report of
// the same grant, or a grant for another call, does not.
func TestCallsActOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		promise string
		round   int
		kind    lock.Kind
		token   holdfast.Token
	}{
		"under another token":    {"P6", 3, lock.Granted, 8},
		"the same grant again":   {"", 3, lock.Granted, 7},
		"released":               {"", 3, lock.Released, 8},
		"of a call before":       {"", 2, lock.Granted, 8},
		"of one that comes next": {"", 4, lock.Granted, 8},
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 1, 0)
			s := newVisitor(w, "visitor0")
			s.was, s.token = 3, 7
			s.once(&visit{visitor: s, round: tt.round}, &lock.Decision{Kind: tt.kind, Name: "n", Token: tt.token})
			judgedAs(t, w.judge, tt.promise)
		})
	}
}

// TestCallsAreMadeAgain checks that visitors of a space whose sessions outlast their members go from one member to
// another, get what they had asked another one for, and are not harmed by a member that notices late.
func TestCallsAreMadeAgain(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	c := config("consensus")
	s, err := RunMany(c, 1, 60, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Worst != nil {
		t.Fatalf("seed %d: %v %v\n%s", s.Worst.Seed, s.Worst.Outcome, s.Worst.Violation, s.Worst.Settings)
	}
	for _, what := range []mark{againCalled, againGranted} {
		if s.counts.hits[what] == 0 {
			t.Errorf("no call was %s", what.name)
		}
	}
}
