package run

import (
	"sync/atomic"
	"time"
)

// How often a busy driver measures its lag, and the number of steps in between below which it stops.
const (
	lookEvery = 20 * time.Millisecond
	restBelow = 8
)

// lag is how long new input waits for its step: for a CPU, and for the driver's mutex. It is measured in the process's
// own time and not the machine's, whose clock may be a test's.
type lag struct {
	limit  time.Duration
	latest atomic.Int64
	behind atomic.Bool
	before time.Duration // of the previous measurement
}

// note records a measurement, and reports whether the driver has fallen behind by it, or has caught up. A single long
// one means that the process was stopped, which is over; two in a row mean that it continues.
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

// Lag returns how long input currently waits for its step, and whether that exceeds Config.LagLimit: then the member is
// overloaded, and should refuse new work before existing work suffers.
func (d *Driver) Lag() (late time.Duration, overloaded bool) {
	return time.Duration(d.lag.latest.Load()), d.lag.behind.Load()
}

// LagLimit returns Config.LagLimit, or its default.
func (d *Driver) LagLimit() time.Duration { return d.lag.limit }

// lookForLag measures the lag while the driver is busy. An idle one costs nothing.
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

// counted counts a step, and starts the measurement of the lag when there are many. It is called with the mutex held.
func (d *Driver) counted() {
	if d.steps++; d.rests && d.steps >= restBelow {
		d.rests = false
		select {
		case d.stirred <- struct{}{}:
		default: // it is already measuring
		}
	}
}
