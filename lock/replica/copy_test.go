package replica

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
)

// taking is a copy in progress, and its expected result.
type taking struct {
	*Copy
	parts  [][]byte
	digest uint64
	begun  int // the step
}

// TestCopiesAreOfTheirBeginning checks that copies taken part by part, several at a time, have the state of their
// beginning, while entries change the rest.
func TestCopiesAreOfTheirBeginning(t *testing.T) {
	changed, longest := 0, 0
	for seed := range uint64(300) {
		rand := rand.New(rand.NewPCG(seed, 1))
		c := Config{Outcomes: 20, Requests: 10, Remember: time.Second, Part: 1 + rand.IntN(200), Table: lock.Config{WaitersPerName: 6}}
		b := newHarness(t, c)
		var under []*taking
		for step := range 150 {
			if rand.IntN(8) == 0 {
				under = append(under, &taking{Copy: b.Copy(), digest: b.Digest(), begun: step})
			}
			b.at += time.Duration(rand.Int64N(2e8))
			e := Entry{At: b.at, Begin: rand.IntN(40) == 0}
			for range rand.IntN(5) {
				e.Ops = append(e.Ops, random(rand))
			}
			b.Apply(&e, &Effects{})
			under = slices.DeleteFunc(under, func(k *taking) bool {
				if rand.IntN(60) == 0 {
					k.Stop()
					return true
				}
				if rand.IntN(3) > 0 {
					return false
				}
				part, more := k.Next()
				k.parts = append(k.parts, part)
				if more {
					return false
				}
				is, err := restored(c, k.parts)
				if err != nil {
					t.Fatalf("seed %d: the copy of step %d: %v", seed, k.begun, err)
				}
				if is.Digest() != k.digest {
					t.Fatalf("seed %d: the copy that began at step %d, and ended at %d, is in another state", seed, k.begun, step)
				}
				checkOnce(t, is)
				if b.Digest() != k.digest {
					changed++
				}
				longest = max(longest, len(k.parts))
				return true
			})
		}
	}
	if changed < 1000 || longest < 15 {
		t.Errorf("%d copies differ from what was there at their end, the longest has %d parts", changed, longest)
	}
}
