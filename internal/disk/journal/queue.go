package journal

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

// pending is a request that waits, and how it is answered.
type pending struct {
	request any
	size    int
	answer  func(any)
}

// perRequest is what a request counts in the queue besides its bytes.
const perRequest = 256

// queue has the requests that wait and those that are being done, up to its bounds.
type queue struct {
	maxRequests, maxBytes int

	mu       sync.Mutex
	more     sync.Cond // of mu
	waiting  []pending
	requests int // waiting and being done
	bytes    int
	ended    error // why there are no more
	broken   bool  // what waits is not to be done either
}

func newQueue(requests, bytes int) *queue {
	q := &queue{maxRequests: requests, maxBytes: bytes}
	q.more.L = &q.mu
	return q
}

// put adds a request, or says why it does not.
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

// take waits for requests, and returns the first of them: more than one up to so many bytes.
// After the end it returns what is left, and then nothing. If the journal is broken, they
// are not to be done.
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
		q.waiting = nil // a slice of the old would keep it alive
	}
	return group, q.broken
}

// done makes room for as much as was taken.
func (q *queue) done(group []pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests -= len(group)
	for i := range group {
		q.bytes -= group[i].size
	}
}

// end takes no more requests, for a reason. The first reason stays, unless a later one is that the journal is broken.
func (q *queue) end(why error, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended == nil || broken && !q.broken {
		q.ended, q.broken = why, broken
	}
	q.more.Broadcast()
}
