package turns

import (
	"sync"
	"time"
)

// Turns grants turns to one kind of task.
type Turns struct {
	most  int
	limit time.Duration

	mu      sync.Mutex
	shorter sync.Cond // signals a shorter line
	under   int       // turns that count
	lines   [2]line   // of priority turns; of others
	closed  bool
}

// line has turns in the order of their requests. Turns that have ended stay in it until they would have come.
type line []*Turn

// New returns Turns of which most count at a time. A turn counts from when it comes until it ends, but no longer than
// limit: so an idle one does not block others for longer.
func New(most int, limit time.Duration) *Turns {
	all := &Turns{most: most, limit: limit}
	all.shorter.L = &all.mu
	return all
}

// Turn is the turn of one task.
type Turn struct {
	of   *Turns
	come chan struct{}

	timer *time.Timer // guarded by the Turns' mutex, as the following fields; nil before it has come
	over  bool
}

// Enqueue takes a place in the priority line, or in the other. End the turn, even if it never came.
func (all *Turns) Enqueue(first bool) *Turn {
	t := &Turn{of: all, come: make(chan struct{})}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.under < all.most {
		all.call(t)
		return t
	}
	l := &all.lines[1]
	if first {
		l = &all.lines[0]
	}
	*l = append(*l, t)
	return t
}

// Come is closed when the turn has come, or has ended before.
func (t *Turn) Come() <-chan struct{} { return t.come }

// Waits reports whether others come first.
func (t *Turn) Waits() bool {
	select {
	case <-t.come:
		return false
	default:
		return true
	}
}

// call starts t's turn. It is called with the mutex held.
func (all *Turns) call(t *Turn) {
	all.under++
	t.timer = time.AfterFunc(all.limit, t.End)
	close(t.come)
}

// End ends the turn and lets the next one come. Ending it again has no effect.
func (t *Turn) End() {
	all := t.of
	all.mu.Lock()
	defer all.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.timer == nil {
		close(t.come)
		return // it is skipped in its line
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
	all.shorter.Broadcast()
}

// AwaitRoom returns when fewer than longest turns are in the lines, or the Turns are closed. Some that have ended in a
// line may count.
func (all *Turns) AwaitRoom(longest int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for len(all.lines[0])+len(all.lines[1]) >= longest && !all.closed {
		all.shorter.Wait()
	}
}

// Close ends AwaitRoom. Turns come as before.
func (all *Turns) Close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.closed = true
	all.shorter.Broadcast()
}

// State returns how many turns count, and how many wait in each line.
func (all *Turns) State() (under int, waiting [2]int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for i, l := range all.lines {
		for _, t := range l {
			if !t.over {
				waiting[i]++
			}
		}
	}
	return all.under, waiting
}
