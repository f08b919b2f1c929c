package clocktest

import (
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Manual is a clock that moves only by Advance.
type Manual struct {
	mu     sync.Mutex
	now    time.Duration
	timers map[*manualTimer]struct{}
}

// NewManual returns a clock at zero.
func NewManual() *Manual { return &Manual{timers: map[*manualTimer]struct{}{}} }

// Now returns the clock's time.
func (m *Manual) Now() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock and fires the timers that are due.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += d
	for t := range m.timers {
		t.fireIfDue()
	}
}

// Next returns when the first of the timers fires, or [clock.Never].
func (m *Manual) Next() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := clock.Never
	for t := range m.timers {
		next = min(next, t.at)
	}
	return next
}

// NewTimer returns a timer that is not armed.
func (m *Manual) NewTimer() clock.Timer {
	t := &manualTimer{clock: m, at: clock.Never, c: make(chan struct{}, 1)}
	m.mu.Lock()
	m.timers[t] = struct{}{}
	m.mu.Unlock()
	return t
}

type manualTimer struct {
	clock *Manual
	at    time.Duration
	c     chan struct{}
}

func (t *manualTimer) C() <-chan struct{} { return t.c }

func (t *manualTimer) Reset(at time.Duration) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = at
	t.fireIfDue()
}

func (t *manualTimer) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.timers, t)
}

// fireIfDue is called with the clock's mutex held.
func (t *manualTimer) fireIfDue() {
	if t.at > t.clock.now {
		return
	}
	t.at = clock.Never
	select {
	case t.c <- struct{}{}:
	default:
	}
}
