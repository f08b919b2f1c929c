package session

import "github.com/holdfast-locks/holdfast/protocol"

// expiryQueue orders sessions by the time at which something of theirs may have ended.
// An entry is a reminder, not the truth: whoever takes it looks whether the session
// was renewed since.
type expiryQueue struct{ heap []reminder }

type reminder struct {
	at     protocol.Time
	number uint64
}

func (q *expiryQueue) first() protocol.Time {
	if len(q.heap) == 0 {
		return protocol.Never
	}
	return q.heap[0].at
}

func (q *expiryQueue) push(at protocol.Time, number uint64) {
	q.heap = append(q.heap, reminder{at, number})
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// less orders by time and then by number, so that equal times end sessions in the
// order in which they were opened.
func (q *expiryQueue) less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	return a.at < b.at || a.at == b.at && a.number < b.number
}

func (q *expiryQueue) pop() (number uint64) {
	number = q.heap[0].number
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return number
		}
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return number
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}
