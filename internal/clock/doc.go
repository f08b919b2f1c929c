// Package clock reads a clock that runs while the machine sleeps.
//
// A lock's deadline must pass on a laptop whose lid is shut. Go's monotonic clock
// stands still during a suspend (it is CLOCK_MONOTONIC on Linux), and the wall
// clock can be set; so deadlines are counted on CLOCK_BOOTTIME where there is one,
// and timers that are armed on it fire at once after a suspend that outlasted
// them. On systems whose monotonic clock runs through sleep (or that offer no
// better one) Go's own clock is used.
//
// A [Clock] is passed to whoever measures time, so that tests can drive it by hand
// with a [Manual].
package clock
