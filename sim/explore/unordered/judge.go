package unordered

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/lock"
)

// decided takes the answer to a user, and checks it.
func (e *engine) decided(w *world, d *lock.Decision) {
	i := int(d.Session.Number) - 1
	switch d.Kind {
	case lock.Queued, lock.Released:
		return
	case lock.Granted:
	default:
		e.violate("P6", "user %d hears %v: %v", i+1, d.Kind, d.Err)
		return
	}
	u := &w.users[i]
	if u.phase != waiting || d.Request != u.request {
		e.violate("P6", "user %d hears that request %d is granted under token %d, and waits for nothing by it", i+1, d.Request, d.Token)
		return
	}
	units, capacity := e.config.Demand(i)
	used := max(1, units)
	for j := range w.users {
		if w.users[j].holds() {
			theirs, _ := e.config.Demand(j)
			used += max(1, theirs)
		}
	}
	if used > max(1, capacity) {
		e.violate("P1", "user %d enters, and %d of %d are in use then", i+1, used, max(1, capacity))
	}
	for j := range w.users {
		if w.users[j].holds() && w.users[j].token == d.Token {
			e.violate("P2", "users %d and %d hold under token %d", j+1, i+1, d.Token)
		}
	}
	if capacity == 0 {
		if d.Token <= w.highest {
			e.violate("P2", "user %d is granted token %d after token %d", i+1, d.Token, w.highest)
		}
		w.highest = d.Token
	}
	u.phase, u.token = holding, d.Token
}

// rest checks a state in which nothing more can happen.
func (e *engine) rest(w *world) {
	for i := range w.users {
		if phase := w.users[i].phase; phase == waiting || phase == holding {
			e.violate("P4", "nothing is under way, and user %d waits", i+1)
		}
	}
}

// violate records the first broken promise of a step.
func (e *engine) violate(promise, format string, arguments ...any) {
	if e.found == nil {
		e.found = &Found{Promise: promise, Detail: fmt.Sprintf(format, arguments...)}
	}
}
