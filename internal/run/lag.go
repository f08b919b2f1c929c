package run

import (
	"sync/atomic"
	"time"
)

// How often a driver at work looks how late it is, and below how many steps in between it rests.
const (
	lookEvery = 20 * time.Millisecond
	restBelow = 8
)

// lag is how long what arrives now waits until the machine is stepped with it: for a turn on a processor,
// and for the driver's mutex. It is measured in the process's own time and not the machine's, whose clock
// may be a test's.
type lag struct {
	limit  time.Duration
	latest atomic.Int64
	behind atomic.Bool
	before time.Duration // by the look before
}

// note takes a measurement, and reports whether the driver has fallen behind by it, or has caught up. One
// alone that is long says that the process stood still, which is over; two in a row say that it goes on.
func (l *lag) note(late time.Duration) (changed bool) {
	behind := l.behind.Load()
	switch {
	case late >= l.limit && l.before >= l.limit/2:
		behind = true
	case late < l.limit/2:
		behind = false
	}
	l.before = late
	l.latest.Store(int64(late))
	return l.behind.Swap(behind) != behind
}

// Lag returns how long what arrives waits at present until the machine is stepped with it, and whether that
// is longer than Config.LagLimit allows: then the member has more to do than it can, and new work should be
// refused before what is under way suffers.
func (d *Driver) Lag() (late time.Duration, overloaded bool) {
	return time.Duration(d.lag.latest.Load()), d.lag.behind.Load()
}

// LagLimit returns Config.LagLimit, or what it means where that is zero.
func (d *Driver) LagLimit() time.Duration { return d.lag.limit }

// lookForLag measures the lag while the driver is at work. An idle one costs nothing.
func (d *Driver) lookForLag() {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		due := time.Now().Add(lookEvery)
		timer.Reset(lookEvery)
		select {
		case <-d.done:
			return
		case <-timer.C:
		}
		d.mu.Lock()
		late := time.Since(due)
		rests := d.steps < restBelow && late < d.lag.limit/2
		d.steps, d.rests = 0, rests
		d.mu.Unlock()
		if d.lag.note(late) {
			if _, overloaded := d.Lag(); overloaded {
				d.logger.Warn("this member is overloaded: new sessions and requests are refused until it has caught up", "lag", late, "limit", d.lag.limit)
			} else {
				d.logger.Info("this member has caught up: new sessions and requests are served again")
			}
		}
		if !rests {
			continue
		}
		select {
		case <-d.done:
			return
		case <-d.stirred:
		}
	}
}

// counted counts a step, and lets the lag be measured when there are many. It is called with the mutex held.
func (d *Driver) counted() {
	if d.steps++; d.rests && d.steps >= restBelow {
		d.rests = false
		select {
		case d.stirred <- struct{}{}:
		default: // it looks already
		}
	}
}
