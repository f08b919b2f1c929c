package protocol

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type numbered uint64

func (n numbered) Before(other numbered) bool { return n < other }

// TestReminders checks the queue against a sorted list, for any pushes and pops in any order: the earliest first, and
// of equal times the lowest key.
func TestReminders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queue Reminders[numbered]
		var model []Reminder[numbered]
		check := func() {
			want := Never
			if len(model) > 0 {
				want = model[0].At
			}
			if got := queue.First(); got != want {
				t.Fatalf("the first of %v is due at %v", model, got)
			}
		}
		pop := func() {
			if got := queue.Pop(); got != model[0] {
				t.Fatalf("popped %v of %v", got, model)
			}
			model = model[1:]
			check()
		}
		check()
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				r := Reminder[numbered]{
					At:  Time(rapid.IntRange(0, 20).Draw(t, "at")) * time.Second,
					Key: numbered(rapid.Uint64Range(1, 50).Draw(t, "key")),
				}
				queue.Push(r.At, r.Key)
				i, _ := slices.BinarySearchFunc(model, r, func(a, b Reminder[numbered]) int {
					return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key))
				})
				model = slices.Insert(model, i, r)
				check()
			},
			"sweep": func(t *rapid.T) {
				odd := func(r Reminder[numbered]) bool { return r.Key%2 == 1 }
				for i := range 2*max(len(model), queue.swept) + 2*spare { // enough for a sweep
					queue.Push(Time(i%7)*time.Second, numbered(2*i))
				}
				living := len(slices.DeleteFunc(slices.Clone(model), func(r Reminder[numbered]) bool { return !odd(r) }))
				queue.Sweep(living, odd)
				model = slices.DeleteFunc(model, func(r Reminder[numbered]) bool { return !odd(r) })
				if len(queue.heap) != len(model) || cap(queue.heap) > 4*(len(model)+spare) {
					t.Fatalf("%d are kept, in room for %d; want %d", len(queue.heap), cap(queue.heap), len(model))
				}
				check()
			},
			"sweep of few": func(t *rapid.T) {
				queue.Sweep(len(model), func(Reminder[numbered]) bool { t.Fatal("few are looked at"); return false })
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

// TestLonger checks that the delay doubles each time, from the initial timeout to eight times that.
func TestLonger(t *testing.T) {
	const patience = 250 * time.Millisecond
	var pause time.Duration
	var got []time.Duration
	for range 6 {
		pause = Longer(pause, patience)
		got = append(got, pause/patience)
	}
	if want := []time.Duration{1, 2, 4, 8, 8, 8}; !slices.Equal(got, want) {
		t.Errorf("in units of patience %d, want %d", got, want)
	}
}
