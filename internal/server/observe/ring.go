package observe

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// kept is how many of the latest states of a name are kept.
const kept = 1024

// ring has the latest states of a name, for readers of any speed. It is safe for concurrent use.
type ring struct {
	mu      sync.Mutex
	states  []*schema.Observed // the latest ones, the last of which has the number count
	count   uint64             // of the states so far
	changed chan struct{}      // closed when there is more, and replaced
	err     error              // nothing more comes, because of it
}

func newRing() *ring { return &ring{changed: make(chan struct{})} }

// add adds states, whose ids are set.
func (r *ring) add(states []*schema.Observed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states = append(r.states, states...)
	r.count += uint64(len(states))
	if more := len(r.states) - kept; more > 0 {
		r.states = append([]*schema.Observed(nil), r.states[more:]...)
	}
	r.wake()
}

// end ends all readers with err, after the states that there are.
func (r *ring) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		r.wake()
	}
}

func (r *ring) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// reader is the place of one observer in a ring. One goroutine uses it.
type reader struct {
	ring   *ring
	next   uint64 // number of the state that it reads next
	first  bool   // that state is the first one
	missed bool   // and comes after others that are unknown
}

// from returns a reader behind the state with an id. Without an id it begins with the latest state, and where the ring
// no longer has the id, with that one and missed.
func (r *ring) from(after string) *reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, state := range r.states {
		if after != "" && state.GetId() == after {
			return &reader{ring: r, next: r.first() + uint64(i) + 1}
		}
	}
	return &reader{ring: r, next: max(r.count, 1), first: true, missed: after != ""}
}

// first returns the number of the first state that the ring has. It is called with the mutex held.
func (r *ring) first() uint64 { return r.count - uint64(len(r.states)) + 1 }

// read returns the states that its observer has not had, and waits for one until ctx ends. A reader that is too slow
// goes on with the first state that the ring has, with missed.
func (r *reader) read(ctx context.Context) ([]*schema.Observed, error) {
	for {
		states, changed, err := r.ready()
		switch {
		case len(states) > 0:
			return states, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r *reader) ready() (states []*schema.Observed, changed <-chan struct{}, err error) {
	r.ring.mu.Lock()
	defer r.ring.mu.Unlock()
	if r.next > r.ring.count {
		return nil, r.ring.changed, r.ring.err
	}
	if first := r.ring.first(); r.next < first {
		r.next, r.first, r.missed = first, true, true
	}
	states = append(states, r.ring.states[r.next-r.ring.first():]...)
	if r.first && r.missed != states[0].GetMissed() {
		states[0] = proto.CloneOf(states[0]) // others share it
		states[0].Missed = r.missed
	}
	r.next, r.first = r.ring.count+1, false
	return states, nil, nil
}
