//go:build !(linux || darwin || dragonfly || freebsd || openbsd)

package clock

import "time"

type real struct{}

func newReal() real { return real{} }

var started = time.Now()

// Now reads Go's monotonic clock.
func (real) Now() time.Duration { return time.Since(started) + 1 }
