package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// requests remembers orders by their clients' ids, so that each acts once however often it is sent (P6): while it
// waits, so that a later long poll continues it; and for a while after its grant, so that a client that has not seen
// the answer can repeat it. A refused order has not acted, and is remembered only until a client has its answer.
//
// It is bounded in time and in the number of names. At the bound a new id is an ErrLimit named requests; none is
// forgotten before its time, because its repetition would act again.
type requests struct {
	bound    int
	remember time.Duration

	mu        sync.Mutex
	closed    bool           // no request's place is kept any more
	graces    sync.WaitGroup // running graces, and those whose end is under way
	names     int            // number of names in all of them
	byOwner   tally          // the same, by their callers
	byKey     map[requestKey]*request
	bySession map[lock.SessionID][]*request // granted ones
	ended     []*request                    // granted ones, in the order of their grants
}

// requestKey identifies a request: by its id, within its session or, before there is one, within the caller. The answer
// to a request has the secret of its session.
type requestKey struct{ session, identity, id string }

// request is one remembered order. The mutex of requests guards all but its constant parts; taken and err may be read
// once done is closed.
type request struct {
	key    requestKey
	order  *order
	ctx    context.Context // ends when no client wants it any more
	cancel context.CancelFunc
	done   chan struct{} // closed when it was granted or refused

	taken    *taken
	err      error
	finished protocol.Time
	attached int         // number of connections that wait for it
	answered bool        // a client has its outcome
	grace    *time.Timer // running while no connection is attached and its place is kept
}

func newRequests(bound int, remember time.Duration) *requests {
	return &requests{
		bound: bound, remember: remember,
		byKey: map[requestKey]*request{}, bySession: map[lock.SessionID][]*request{}, byOwner: tally{limit: quotaRequests, key: "requests", what: "remembered requests"},
	}
}

// join attaches a connection to the request of o, which is made if it is not known. The error is an ErrConflict for a
// known id with different content, or an ErrLimit.
func (r *requests) join(parent context.Context, o *order, now protocol.Time) (q *request, made bool, err error) {
	key := requestKey{o.given.id.String(), o.Caller.identity(), o.Request}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetOld(now)
	if q := r.byKey[key]; q != nil {
		if q.order.digest != o.digest {
			return nil, false, fmt.Errorf("%w: request %q was sent before with another content", holdfast.ErrConflict, o.Request)
		}
		q.attached++
		r.stopGrace(q)
		return q, false, nil
	}
	if r.names+len(o.Names) > r.bound {
		return nil, false, &holdfast.LimitError{Limit: "requests", Value: int64(r.bound)}
	}
	if err := r.byOwner.take(o.Caller, len(o.Names), r.bound); err != nil {
		return nil, false, err
	}
	q = &request{key: key, order: o, done: make(chan struct{}), attached: 1}
	q.ctx, q.cancel = context.WithCancel(parent)
	r.byKey[key] = q
	r.names += len(o.Names)
	return q, true, nil
}

// remembered returns the number of names in the remembered requests.
func (r *requests) remembered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names
}

// stopGrace ends the grace of q, if it has one.
func (r *requests) stopGrace(q *request) {
	if q.grace != nil && q.grace.Stop() {
		r.graces.Done()
	}
	q.grace = nil
}

// knows reports whether q is still remembered.
func (r *requests) knows(q *request) bool { return r.byKey[q.key] == q }

// forget forgets q, except for its place among the granted ones.
func (r *requests) forget(q *request) {
	if r.knows(q) {
		delete(r.byKey, q.key)
		r.names -= len(q.order.Names)
		r.byOwner.give(q.order.Caller, len(q.order.Names))
	}
}

// finish sets the outcome of q, and reports whether any client still wants it.
func (r *requests) finish(q *request, t *taken, err error, now protocol.Time) (wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(q.done)
	q.taken, q.err, q.finished = t, err, now
	if !r.knows(q) {
		return false
	}
	switch {
	case err == nil:
		id := t.session.id
		r.bySession[id] = append(r.bySession[id], q)
		r.ended = append(r.ended, q)
	case q.attached > 0:
		r.forget(q) // waiting connections have it
	}
	return true
}

// leave detaches a connection that no longer waits. With keep the request keeps its place for the grace, after which
// abandon is called; without, it is over, unless another connection waits or keeps it. It reports whether it is over.
func (r *requests) leave(q *request, keep time.Duration, abandon func()) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.attached--
	if q.attached > 0 || q.answered {
		return false
	}
	if keep > 0 && !r.closed {
		r.stopGrace(q)
		r.graces.Add(1)
		q.grace = time.AfterFunc(keep, func() {
			defer r.graces.Done()
			abandon()
		})
		return false
	}
	return q.grace == nil && r.drop(q)
}

// lapse ends the grace of q, and reports whether that ends the request.
func (r *requests) lapse(q *request) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.attached > 0 || q.answered || q.grace == nil {
		return false
	}
	q.grace = nil
	return r.drop(q)
}

// drop forgets a request that no client wants and cancels its wait. It reports whether this is the first time.
func (r *requests) drop(q *request) bool {
	q.cancel()
	if !r.knows(q) {
		return false
	}
	r.forget(q)
	for at, granted := range slices.Backward(r.ended) { // it is usually among the latest
		if granted == q {
			r.ended = slices.Delete(r.ended, at, at+1)
			r.forgetGrant(q)
			break
		}
	}
	return true
}

// close ends every grace, and returns the requests that this ends. No request gets a grace afterwards.
func (r *requests) close() (over []*request) {
	r.mu.Lock()
	r.closed = true
	for _, q := range r.byKey {
		if q.grace == nil {
			continue
		}
		r.stopGrace(q)
		if r.drop(q) {
			over = append(over, q)
		}
	}
	r.mu.Unlock()
	r.graces.Wait()
	return over
}

// answer detaches a connection that gets the outcome of q, which is done. First means that it is the first to get it,
// gone that the client has since given up part of the grant.
func (r *requests) answer(q *request) (first, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.attached--
	q.cancel()
	first, q.answered = !q.answered, true
	if q.err != nil {
		r.forget(q)
		return first, false
	}
	return first, slices.ContainsFunc(q.taken.grants, func(g *grant) bool { return g.released })
}

// released records that a session has released one request; 0 means all.
func (r *requests) released(id lock.SessionID, request uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.bySession[id] {
		for _, g := range q.taken.grants {
			if request == 0 || g.decision.Request == request {
				g.released = true
			}
		}
	}
}

// forgetOld forgets grants older than the limit.
func (r *requests) forgetOld(now protocol.Time) {
	for len(r.ended) > 0 && r.ended[0].finished+r.remember <= now {
		q := r.ended[0]
		r.ended[0] = nil
		r.ended = r.ended[1:]
		r.forget(q)
		r.forgetGrant(q)
	}
}

// forgetGrant removes q from its session's grants.
func (r *requests) forgetGrant(q *request) {
	id := q.taken.session.id
	if rest := slices.DeleteFunc(r.bySession[id], func(other *request) bool { return other == q }); len(rest) > 0 {
		r.bySession[id] = rest
	} else {
		delete(r.bySession, id)
	}
}
