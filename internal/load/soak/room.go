package soak

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
)

// room watches one name in any mode: which locks are inside at once. A nil one watches nothing.
type room struct {
	violations *atomic.Uint64

	mu     sync.Mutex
	inside []*holdfast.Lock
}

// enter records a granted lock. It is a violation if the live locks inside leave no room for it.
func (r *room) enter(lock *holdfast.Lock) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	units := lock.Units()
	for _, other := range r.inside {
		switch {
		case other.Check() != nil:
		case lock.Mode() == holdfast.ModeShared && other.Mode() == holdfast.ModeShared:
		case lock.Mode() == holdfast.ModeSlots && other.Mode() == holdfast.ModeSlots:
			units += other.Units()
		default:
			units = lock.Capacity() + 1
		}
	}
	if units > lock.Capacity() {
		r.violations.Add(1)
	}
	r.inside = append(r.inside, lock)
}

// leave records that it is about to be released.
func (r *room) leave(lock *holdfast.Lock) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.inside, lock); i >= 0 {
		r.inside = slices.Delete(r.inside, i, i+1)
	}
}
