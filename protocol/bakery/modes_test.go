package bakery_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// modes draws any mode.
func modes(s *schedule) lock.Request {
	const capacity = 3
	switch s.rand.IntN(3) {
	case 0:
		return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}}
	case 1:
		return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}}}
	}
	return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1 + s.rand.IntN(capacity), Capacity: capacity}}}
}

// TestModesTogether checks that when several clients of every mode at each member want one name, the holders are
// compatible, and no client is left waiting.
func TestModesTogether(t *testing.T) {
	for _, published := range []bool{false, true} {
		for _, n := range sizes {
			together := 0
			each(t, schedules, func(t testing.TB, seed uint64) {
				s := newSchedule(t, seed, n, 3, bakery.Config{Options: bakery.Options{Published: published}})
				s.requests, s.left = modes, wanted
				s.run()
				if s.most > 1 {
					together++
				}
			})
			if together == 0 {
				t.Errorf("published=%t n=%d: there were never two clients inside", published, n)
			}
		}
	}
}

// TestModesOverALossyNetwork checks the same over a network that loses, duplicates and reorders messages, as time
// passes.
func TestModesOverALossyNetwork(t *testing.T) {
	for _, published := range []bool{false, true} {
		for _, n := range sizes {
			for _, requests := range []func(*schedule) lock.Request{modes} {
				each(t, schedules/10, func(t testing.TB, seed uint64) {
					s := newSchedule(t, seed, n, 2, bakery.Config{Options: bakery.Options{Published: published}})
					s.lossy = true
					s.requests, s.left = requests, wanted
					s.run()
					if s.grants != wanted {
						t.Errorf("published=%t n=%d: %d of %d were granted", published, n, s.grants, wanted)
					}
				})
			}
		}
	}
}
