package run

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// A tick later than lateAfter is given to the machine only after pending input was stepped: when the process gets a CPU
// within lateAfter again, and after hearLimit at most. The Go runtime polls connections at least every 10 ms, and a
// goroutine that waits for the driver's mutex longer than 1 ms gets it before others.
const (
	lateAfter = 20 * time.Millisecond
	hearLimit = 250 * time.Millisecond
)

// keepTime ticks the machine at its wake times.
func (d *Driver) keepTime() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-d.done:
			return
		case <-d.timer.C():
		}
		d.mu.Lock()
		if d.isDue() && time.Since(d.due) > lateAfter {
			d.mu.Unlock()
			d.hearFirst(pause)
			d.mu.Lock()
		}
		switch {
		case d.isDue():
			d.wake = protocol.Never // the timer has fired: it must be set again
			d.step(&protocol.Event{Kind: protocol.Tick})
			d.deliver()
		case !d.closed:
			d.wake = protocol.Never
			d.arm(d.Now())
		}
		d.mu.Unlock()
	}
}

// isDue reports whether the machine's wake time has come. It is called with the mutex held.
func (d *Driver) isDue() bool { return !d.closed && d.machine.Wake() <= d.Now() }

// hearFirst lets pending input be stepped before the machine judges time: this process did not run when the time came,
// or its machine was busy, and input that would have prevented an expiry may have waited for the same reason.
func (d *Driver) hearFirst(pause *time.Timer) {
	for begun := time.Now(); ; {
		at := time.Now().Add(lateAfter)
		pause.Reset(lateAfter)
		select {
		case <-d.done:
			return
		case <-pause.C:
		}
		if time.Since(at) <= lateAfter || time.Since(begun) >= hearLimit {
			return
		}
	}
}
