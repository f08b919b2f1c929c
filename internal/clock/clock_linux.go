package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shared reports whether all processes of this machine read the same clock.
const Shared = true

// real is CLOCK_BOOTTIME. Go reads that only by a system call, and CLOCK_MONOTONIC, which is the same except that it
// stops during a suspend, without one. So the difference between the two is kept from each system call for the next
// [trust] of monotonic time, and a read within that time returns monotonic time plus the difference.
//
// The returned time differs from CLOCK_BOOTTIME as follows:
//
//   - It is never later, and earlier by at most [blur]: monotonic time is read after CLOCK_BOOTTIME, so the kept
//     difference is too small, if anything.
//   - After a suspend it is earlier by the suspend's length until trust of running time has passed since the last
//     system call, some of which was before the suspend. So a process that wakes counts its sleep after at most 20 µs,
//     which is less than any timer takes to report it.
//   - It never goes back, for any goroutine: the kept difference is never lowered (the true one never decreases), and
//     monotonic time does not go back.
type real struct {
	base time.Time // zero of monotonic time

	// Written under the mutex, ahead before until: a reader that reads until before ahead has a difference that is at
	// least as new.
	reading sync.Mutex
	until   atomic.Int64 // monotonic time until which the difference is valid
	ahead   atomic.Int64 // difference of CLOCK_BOOTTIME and monotonic time, or slightly less

	bell bell // for its timers
}

const (
	trust = 20 * time.Microsecond // how long a reading is valid
	blur  = 2 * time.Microsecond  // maximum duration of a valid reading
)

func newReal() *real { return &real{base: time.Now()} }

// Now returns CLOCK_BOOTTIME.
func (c *real) Now() time.Duration {
	if now, ok := c.derive(); ok {
		return now
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if now, ok := c.derive(); ok { // another goroutine has read it meanwhile
		return now
	}
	return c.read()
}

// derive returns CLOCK_BOOTTIME without a system call, if it was read just now.
func (c *real) derive() (now time.Duration, ok bool) {
	until := time.Duration(c.until.Load())
	monotonic := time.Since(c.base)
	if monotonic >= until {
		return 0, false
	}
	return monotonic + time.Duration(c.ahead.Load()), true
}

// read reads CLOCK_BOOTTIME and keeps the difference. It is called with the mutex held.
func (c *real) read() time.Duration {
	before := time.Since(c.base)
	now := bootTime()
	after := time.Since(c.base)
	until := after + trust
	if after-before > blur {
		until = 0 // too far apart for a valid difference: the next one reads as well
	} else if ahead := int64(now - after); ahead > c.ahead.Load() {
		c.ahead.Store(ahead)
	}
	c.until.Store(int64(until))
	return now
}

// bootTime reads CLOCK_BOOTTIME by a raw system call: it never blocks, so the scheduler need not know.
func bootTime() time.Duration {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(fmt.Sprintf("reading CLOCK_BOOTTIME: %v", errno))
	}
	return time.Duration(ts.Nano())
}
