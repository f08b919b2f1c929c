package sim

// queue is a FIFO queue. It reuses its memory as soon as it is empty, which is nearly always.
type queue[T any] struct {
	waiting []T
	taken   int
}

// put appends an element.
func (q *queue[T]) put(x T) {
	if q.empty() {
		clear(q.waiting)
		q.waiting, q.taken = q.waiting[:0], 0
	}
	if q.waiting == nil { // few have more in flight at once
		q.waiting = make([]T, 0, 4)
	}
	q.waiting = append(q.waiting, x)
}

// take removes the first n elements. They are the caller's until the next put.
func (q *queue[T]) take(n int) []T {
	first := q.waiting[q.taken : q.taken+n]
	q.taken += n
	return first
}

func (q *queue[T]) empty() bool { return q.taken == len(q.waiting) }
