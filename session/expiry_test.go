package session

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestExpiryQueue: against a sorted list, whatever is pushed and popped in whatever
// order: the earliest first, and of equal times the session that was opened first.
func TestExpiryQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queue expiryQueue
		var model []reminder
		check := func() {
			want := protocol.Never
			if len(model) > 0 {
				want = model[0].at
			}
			if got := queue.first(); got != want {
				t.Fatalf("the first of %v is due at %v", model, got)
			}
		}
		pop := func() {
			if got := queue.pop(); got != model[0].number {
				t.Fatalf("popped %d of %v", got, model)
			}
			model = model[1:]
			check()
		}
		check()
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				r := reminder{
					at:     protocol.Time(rapid.IntRange(0, 20).Draw(t, "at")) * time.Second,
					number: rapid.Uint64Range(1, 50).Draw(t, "number"),
				}
				queue.push(r.at, r.number)
				i, _ := slices.BinarySearchFunc(model, r, func(a, b reminder) int {
					return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number))
				})
				model = slices.Insert(model, i, r)
				check()
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				pop()
			},
		})
		for len(model) > 0 {
			pop()
		}
	})
}
