package client

import (
	"context"
	"sync"
	"time"
)

// mostMade is how many connections the Clients of this process make at a time. Where thousands are made at once, each
// is finished when nearly all are; their Clients give up before, and begin again. In turn the first are finished soon.
const mostMade = 64

// turns lets connections be made in turn: those of Clients that have a session first, because it has a deadline, and
// otherwise in the order in which they were asked for. One that takes longer than limit does not count any more: an
// address that is silent keeps none from their turn for longer.
type turns struct {
	most  int
	limit time.Duration

	mu    sync.Mutex
	under int     // turns that count
	lines [2]line // of Clients with a session; of others
}

// line is in the order in which its turns were asked for. It is no longer than the addresses that Clients ask at the time,
// and those that they have given up in the last moments.
type line []*turn

// turn is one connection's.
type turn struct {
	of     *turns
	called chan struct{} // closed when it is its turn

	timer *time.Timer // the turns' mutex guards it, and what follows
	over  bool
}

// ask takes a place in a line. End the turn, even if it never came.
func (all *turns) ask(hurried bool) *turn {
	t := &turn{of: all, called: make(chan struct{})}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.under < all.most {
		all.call(t)
		return t
	}
	l := &all.lines[1]
	if hurried {
		l = &all.lines[0]
	}
	*l = append(*l, t)
	return t
}

// call says that it is t's turn.
func (all *turns) call(t *turn) {
	all.under++
	t.timer = time.AfterFunc(all.limit, t.end)
	close(t.called)
}

// await returns when it is the turn, or the context has ended.
func (t *turn) await(ctx context.Context) error {
	select {
	case <-t.called:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waits reports whether others come before.
func (t *turn) waits() bool {
	select {
	case <-t.called:
		return false
	default:
		return true
	}
}

// end lets the next one have its turn.
func (t *turn) end() {
	all := t.of
	all.mu.Lock()
	defer all.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.timer == nil {
		return // it is passed over in its line
	}
	t.timer.Stop()
	all.under--
	for i := range all.lines {
		for l := &all.lines[i]; len(*l) > 0 && all.under < all.most; {
			next := (*l)[0]
			(*l)[0] = nil
			if *l = (*l)[1:]; !next.over {
				all.call(next)
			}
		}
	}
}
