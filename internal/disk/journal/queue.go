package journal

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

// pending is a waiting request, with its callback.
type pending struct {
	request any
	size    int
	answer  func(any)
}

// perRequest is the fixed size of a request in the queue, in addition to its bytes.
const perRequest = 256

// queue has the requests waiting and in progress, up to its bounds.
type queue struct {
	maxRequests, maxBytes int

	mu       sync.Mutex
	more     sync.Cond // of mu
	waiting  []pending
	requests int // waiting and in progress
	bytes    int
	ended    error // why no more are accepted
	broken   bool  // the waiting ones are not executed either
}

func newQueue(requests, bytes int) *queue {
	q := &queue{maxRequests: requests, maxBytes: bytes}
	q.more.L = &q.mu
	return q
}

// put adds a request, or returns why it does not.
func (q *queue) put(a pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended != nil:
		return q.ended
	case q.requests >= q.maxRequests:
		return fmt.Errorf("%d requests wait for the journal, which are as many as may; ask again when one is answered: %w", q.requests, storage.ErrRefused)
	case q.bytes+a.size > q.maxBytes && q.requests > 0:
		return fmt.Errorf("requests of %d bytes wait for the journal, and %d may; ask again when one is answered: %w", q.bytes, q.maxBytes, storage.ErrRefused)
	}
	q.waiting = append(q.waiting, a)
	q.requests++
	q.bytes += a.size
	q.more.Signal()
	return nil
}

// take waits for requests, and returns the first of them: more than one up to that many bytes. After the end it returns
// the rest, and then none. If the journal is broken, they must not be executed.
func (q *queue) take(bytes int) (group []pending, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && q.ended == nil {
		q.more.Wait()
	}
	n, size := 0, 0
	for n < len(q.waiting) && (n == 0 || size+q.waiting[n].size <= bytes) {
		size += q.waiting[n].size
		n++
	}
	group = q.waiting[:n:n]
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil // a subslice would keep the old one alive
	}
	return group, q.broken
}

// done frees the room of a taken group.
func (q *queue) done(group []pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests -= len(group)
	for i := range group {
		q.bytes -= group[i].size
	}
}

// end stops accepting requests, for a reason. The first reason stays, unless a later one is that the journal is broken.
func (q *queue) end(why error, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended == nil || broken && !q.broken {
		q.ended, q.broken = why, broken
	}
	q.more.Broadcast()
}
