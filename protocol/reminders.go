package protocol

// Reminders order by time what a machine has to look at again: [Reminders.First] is for
// its Wake. An entry is a reminder, not the truth: nothing is taken out but what is due,
// and whoever takes it looks whether there is still something to do. Keys name what is
// to be looked at, and order what is due at one time, so that a run repeats itself. The
// zero Reminders is empty.
type Reminders[K Key[K]] struct{ heap []Reminder[K] }

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
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return first
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}

func (q *Reminders[K]) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.At < b.At || a.At == b.At && a.Key.Before(b.Key)
}
