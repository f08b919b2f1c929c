package protocol

// Longer returns how long to wait before something is sent again that was sent after pause:
// patience at first, where pause is 0, then twice as long each time, and never more than
// eight times patience. A message that is repeated so is never given up, and costs little
// while there is no member to answer.
func Longer(pause, patience Time) Time {
	return min(max(2*pause, patience), 8*patience)
}

// Reminders order by time what a machine has to look at again: [Reminders.First] is for
// its Wake. An entry is a reminder, not the truth. Only what is due is taken out, and
// the machine that takes it looks whether there is still something to do. Sweep keeps
// what has ended before from piling up. Keys name what is to be looked at, and order
// what is due at one time, so that a run repeats itself. The zero Reminders is empty.
type Reminders[K Key[K]] struct {
	heap  []Reminder[K]
	swept int // how many the last Sweep has left
}

// Reminder says what to look at, and since when it is due.
type Reminder[K Key[K]] struct {
	At  Time
	Key K
}

// Key is what a reminder is about.
type Key[K any] interface {
	// Before reports whether this one comes before other where both are due at one
	// time. It is a strict order.
	Before(other K) bool
}

// First returns when the earliest is due, or Never.
func (q *Reminders[K]) First() Time {
	if len(q.heap) == 0 {
		return Never
	}
	return q.heap[0].At
}

// Push adds a reminder of key, due at the time at. The same key may have several.
func (q *Reminders[K]) Push(at Time, key K) {
	q.heap = append(q.heap, Reminder[K]{at, key})
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// Pop takes the earliest. There must be one.
func (q *Reminders[K]) Pop() Reminder[K] {
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = Reminder[K]{} // nothing keeps what its key may point to
	q.heap = q.heap[:last]
	q.sift(0)
	return first
}

// sift moves the reminder at i down to where it belongs.
func (q *Reminders[K]) sift(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}

// spare is how many reminders that are not wanted any more may stand among few others.
const spare = 64

// Sweep takes out the reminders that are not wanted any more, where there are so many
// that most of them must be: living is how many are wanted at most. Called whenever
// something has ended, it bounds the memory by what lives, however far off the times are
// for which it had been reminded; and the cost of each call, taken together, by a
// constant.
func (q *Reminders[K]) Sweep(living int, wanted func(Reminder[K]) bool) {
	if len(q.heap) <= 2*max(living, q.swept)+spare {
		return
	}
	kept := q.heap[:0]
	for _, r := range q.heap {
		if wanted(r) {
			kept = append(kept, r)
		}
	}
	clear(q.heap[len(kept):])
	q.heap, q.swept = kept, len(kept)
	if cap(kept) > 4*(len(kept)+spare) {
		q.heap = append([]Reminder[K](nil), kept...)
	}
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.sift(i)
	}
}

func (q *Reminders[K]) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.At < b.At || a.At == b.At && a.Key.Before(b.Key)
}
