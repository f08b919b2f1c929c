//go:build !(linux || darwin || dragonfly || freebsd || openbsd)

package clock

import "time"

// Shared reports whether all processes of this machine read the same clock: here each has its own.
const Shared = false

type real struct{}

func newReal() real { return real{} }

var started = time.Now()

// Now reads Go's monotonic clock.
func (real) Now() time.Duration { return time.Since(started) + 1 }
