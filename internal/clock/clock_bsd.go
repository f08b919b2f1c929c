//go:build darwin || dragonfly || freebsd || openbsd

package clock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Shared reports whether all processes of this machine read the same clock.
const Shared = true

type real struct{}

func newReal() real { return real{} }

// Now reads CLOCK_MONOTONIC, which all processes of the machine share, and which on macOS runs while the machine
// sleeps; Go's own clock has neither property there.
func (real) Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("reading CLOCK_MONOTONIC: %v", err))
	}
	return time.Duration(ts.Nano())
}
