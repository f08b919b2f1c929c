package host

import (
	"context"
	"sync"

	"github.com/holdfast-locks/holdfast"
)

// turns lets the changes of each grant act one after another, so that they act here in the order in which the authority
// executes them. The changes of other grants do not wait for them: the space of one may have no quorum. The zero value
// is ready to use.
type turns struct {
	mu sync.Mutex
	of map[grant]*turn
}

// grant identifies a grant of a session. An owner may hold it by several locks.
type grant struct {
	space, name string
	token       holdfast.Token
}

// turn is the turn of a grant.
type turn struct {
	taken chan struct{} // holds one while a change is under way
	users int           // calls that have it or wait for it
}

// take waits for the turn of a lock's grant, and returns what ends it.
func (t *turns) take(ctx context.Context, l *holdfast.Lock) (end func(), err error) {
	of := grant{l.Space(), l.Name(), l.Token()}
	t.mu.Lock()
	if t.of == nil {
		t.of = map[grant]*turn{}
	}
	one := t.of[of]
	if one == nil {
		one = &turn{taken: make(chan struct{}, 1)}
		t.of[of] = one
	}
	one.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.of, of)
		}
	}
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
