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

// Shared says that all processes of this machine read the same clock.
const Shared = true

// real is CLOCK_BOOTTIME. Go reads that only by a system call, and CLOCK_MONOTONIC,
// which is the same but for standing still during a suspend, without one. So by how much
// the one is ahead of the other is kept from each system call for the next [trust] of
// monotonic time, and a caller that asks soon again gets monotonic time and that.
//
// The time returned differs from CLOCK_BOOTTIME so:
//
//   - It is never later, and earlier by at most [blur]: monotonic time is read after
//     CLOCK_BOOTTIME, so the kept difference is too small, if anything.
//   - After a suspend it is earlier by what that took until trust of running time has
//     passed since the last system call, some of which was before the suspend. So a
//     process that wakes counts what it has slept after 20 µs at the latest, which is
//     less than any timer takes to tell it.
//   - It never goes back, whichever goroutine asks: the kept difference is never lowered
//     (the true one never sinks), and monotonic time does not go back.
type real struct {
	base time.Time // where monotonic time is counted from

	// Written under the mutex, ahead before until: a reader that reads until before
	// ahead has a difference that is as new.
	reading sync.Mutex
	until   atomic.Int64 // the monotonic time until which the difference is relied on
	ahead   atomic.Int64 // by how much CLOCK_BOOTTIME is ahead of monotonic time, or a little less

	bell bell // what its timers are set on
}

const (
	trust = 20 * time.Microsecond // for how long a reading is relied on
	blur  = 2 * time.Microsecond  // how long a reading may take that is relied on
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

// derive returns CLOCK_BOOTTIME without reading it, if it was read just now.
func (c *real) derive() (now time.Duration, ok bool) {
	until := time.Duration(c.until.Load())
	monotonic := time.Since(c.base)
	if monotonic >= until {
		return 0, false
	}
	return monotonic + time.Duration(c.ahead.Load()), true
}

// read reads CLOCK_BOOTTIME and keeps by how much it is ahead. It is called with the
// mutex held.
func (c *real) read() time.Duration {
	before := time.Since(c.base)
	now := bootTime()
	after := time.Since(c.base)
	until := after + trust
	if after-before > blur {
		until = 0 // too far apart to say what the difference is: the next one reads as well
	} else if ahead := int64(now - after); ahead > c.ahead.Load() {
		c.ahead.Store(ahead)
	}
	c.until.Store(int64(until))
	return now
}

// bootTime reads CLOCK_BOOTTIME. It is a raw system call: the read never blocks, so the
// scheduler need not hear of it.
func bootTime() time.Duration {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(fmt.Sprintf("reading CLOCK_BOOTTIME: %v", errno))
	}
	return time.Duration(ts.Nano())
}
