package clock

import (
	"math"
	"sync"
	"time"
)

// Never is the time that does not come; a timer reset to it does not fire.
const Never time.Duration = math.MaxInt64

// Clock measures durations. Its zero is arbitrary: two clocks are never compared.
type Clock interface {
	// Now returns the time since the clock's zero. It never goes back.
	Now() time.Duration
	// NewTimer returns a timer that is not armed.
	NewTimer() Timer
}

// Timer fires once each time it is armed.
type Timer interface {
	// C receives when the timer fires. A firing may be spurious (the timer was reset
	// meanwhile): look at the clock.
	C() <-chan struct{}
	// Reset arms the timer to fire at the time at; Never disarms it.
	Reset(at time.Duration)
	// Stop disarms the timer and frees what it uses. It must not be used again.
	Stop()
}

// Real is the clock of this machine, the same one each time.
func Real() Clock { return machine }

var machine = newReal()

// Manual is a clock that stands still until it is advanced, for tests.
type Manual struct {
	mu     sync.Mutex
	now    time.Duration
	timers map[*manualTimer]struct{}
}

// NewManual returns a clock that stands at zero.
func NewManual() *Manual { return &Manual{timers: map[*manualTimer]struct{}{}} }

// Now returns where the clock stands.
func (m *Manual) Now() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock and fires the timers whose time has come.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += d
	for t := range m.timers {
		t.fireIfDue()
	}
}

// Next returns when the first of the timers fires, or Never.
func (m *Manual) Next() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := Never
	for t := range m.timers {
		next = min(next, t.at)
	}
	return next
}

// NewTimer returns a timer that is not armed.
func (m *Manual) NewTimer() Timer {
	t := &manualTimer{clock: m, at: Never, c: make(chan struct{}, 1)}
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
	t.at = Never
	select {
	case t.c <- struct{}{}:
	default:
	}
}
