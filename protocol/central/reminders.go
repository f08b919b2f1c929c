package central

import "github.com/holdfast-locks/holdfast/protocol"

// reminders order what is to be looked at again by time. An entry is a reminder, not
// the truth: whoever takes it looks whether there is still something to do.
type reminders struct{ heap []reminder }

// reminder names a wish, and at a coordinator whose it is.
type reminder struct {
	at  protocol.Time
	key wishKey
}

// wishKey names a wish among those of all members.
type wishKey struct {
	member protocol.ID
	wish   uint64
}

func (q *reminders) first() protocol.Time {
	if len(q.heap) == 0 {
		return protocol.Never
	}
	return q.heap[0].at
}

func (q *reminders) push(at protocol.Time, key wishKey) {
	q.heap = append(q.heap, reminder{at, key})
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *reminders) pop() reminder {
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
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

// less orders by time, then by member and wish, so that equal times repeat their order.
func (q *reminders) less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.key.member != b.key.member:
		return a.key.member < b.key.member
	}
	return a.key.wish < b.key.wish
}
