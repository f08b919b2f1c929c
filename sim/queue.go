package sim

// queue is what waits in order. It uses its memory again as soon as it is empty, which is
// nearly always.
type queue[T any] struct {
	waiting []T
	taken   int
}

// put adds something at the end.
func (q *queue[T]) put(x T) {
	if q.empty() {
		clear(q.waiting)
		q.waiting, q.taken = q.waiting[:0], 0
	}
	if q.waiting == nil { // few have more on their way at once
		q.waiting = make([]T, 0, 4)
	}
	q.waiting = append(q.waiting, x)
}

// take removes the first n. They are the caller's until the next put.
func (q *queue[T]) take(n int) []T {
	first := q.waiting[q.taken : q.taken+n]
	q.taken += n
	return first
}

func (q *queue[T]) empty() bool { return q.taken == len(q.waiting) }
