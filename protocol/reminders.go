package protocol

// Longer returns how long to wait before resending a message that was sent after pause: patience at first, when pause
// is 0, then twice as long each time, and never more than eight times patience. A message repeated in this way is never
// given up, and costs little while there is no member to answer.
func Longer(pause, patience Time) Time {
	return min(max(2*pause, patience), 8*patience)
}

// Reminders is a queue, ordered by time, of things that a machine must check again: [Reminders.First] is for its Wake.
// An entry is a hint. Only due entries are removed, and the machine checks whether there is still something to do.
// Sweep removes accumulated outdated entries. Keys identify what to check, and order entries due at the same time, so
// that a run is reproducible. The zero Reminders is empty.
type Reminders[K Key[K]] struct {
	heap  []Reminder[K]
	swept int // number of entries after the last Sweep
}

// Reminder is an entry: what to check, and from when.
type Reminder[K Key[K]] struct {
	At  Time
	Key K
}

// Key is the subject of a reminder.
type Key[K any] interface {
	// Before reports whether this key comes before other if both are due at the same time. It is a strict order.
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

// Pop removes and returns the earliest. There must be one.
func (q *Reminders[K]) Pop() Reminder[K] {
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = Reminder[K]{} // releases what its key may point to
	q.heap = q.heap[:last]
	q.sift(0)
	return first
}

// sift moves the reminder at i down to its place in the heap.
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

// spare is how many outdated reminders may remain in a small queue.
const spare = 64

// Sweep removes outdated reminders once they must be the majority: living is the maximum number of wanted ones. Called
// after every end, it limits memory by the living entries, however distant their times, and the amortized cost of a
// call by a constant.
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
