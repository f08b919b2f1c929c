package load

import (
	"slices"
	"sync"
)

// Checker watches one name: which worker is inside, whether two were, and how often it has changed hands. All workers
// of a measurement share it.
type Checker struct {
	mu         sync.Mutex
	inside     []occupancy
	last       int // the worker that entered last, from 1; 0 before the first
	handoffs   uint64
	violations uint64
}

type occupancy struct {
	worker int
	held   Held
}

// Enter records that a worker, counted from 0, has been granted the name. It is a violation if another one is inside
// whose lock has not ended by itself.
func (c *Checker) Enter(worker int, held Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.inside, func(other occupancy) bool { return holds(other.held) }) {
		c.violations++
	}
	c.inside = append(c.inside, occupancy{worker, held})
	if c.last != 0 && c.last != worker+1 {
		c.handoffs++
	}
	c.last = worker + 1
}

func holds(held Held) bool {
	checked, ok := held.(interface{ Check() error })
	return !ok || checked.Check() == nil
}

// Leave records that a worker is about to release it.
func (c *Checker) Leave(worker int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.inside, func(s occupancy) bool { return s.worker == worker }); i >= 0 {
		c.inside = slices.Delete(c.inside, i, i+1)
	}
}

// Counts returns how often the holder has changed, and how often a worker entered while another was inside.
func (c *Checker) Counts() (handoffs, violations uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handoffs, c.violations
}
