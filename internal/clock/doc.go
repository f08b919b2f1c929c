// Package clock provides a monotonic clock that runs while the machine sleeps.
//
// A lock's deadline must pass on a laptop whose lid is shut. Go's monotonic clock stops during a suspend (it is
// CLOCK_MONOTONIC on Linux), and the wall clock can be set; so deadlines are counted on CLOCK_BOOTTIME if available
// (and read without a system call if one was made less than 20 µs ago), and timers that are armed on it fire at once
// after a suspend that outlasted them. macOS and the BSDs have CLOCK_MONOTONIC, which on macOS runs through sleep;
// elsewhere Go's own clock is used. Timers outside Linux are Go's and may be late after a suspend: code that decides
// something reads the clock. On Linux all timers of a process share one timerfd, and with it one descriptor and one
// goroutine.
//
// Processes of one machine that read CLOCK_BOOTTIME or CLOCK_MONOTONIC read the same clock, so the demo can compare the
// reports of its processes.
//
// All code that measures time takes a [Clock], so that tests can drive it by hand with a Manual of package clocktest.
package clock
