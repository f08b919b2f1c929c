package clock

import (
	"math"
	"time"
)

// Never is a time that never comes; a timer reset to it does not fire.
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
	// C receives when the timer fires. A firing may be spurious (the timer was reset meanwhile): check the clock.
	C() <-chan struct{}
	// Reset arms the timer to fire at the time at; Never disarms it.
	Reset(at time.Duration)
	// Stop disarms the timer and frees what it uses. It must not be used again.
	Stop()
}

// Real returns the clock of this machine, the same one each time.
func Real() Clock { return machine }

var machine = newReal()
