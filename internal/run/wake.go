package run

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// A tick that comes later than lateAfter is given to the machine when what has arrived meanwhile was heard:
// when a turn on a processor comes within lateAfter again, and hearLimit later at the most. The Go runtime
// looks after connections every 10 ms at the least, and what waits for the driver's mutex for longer than
// 1 ms has it before others.
const (
	lateAfter = 20 * time.Millisecond
	hearLimit = 250 * time.Millisecond
)

// keepTime ticks the machine whenever it wants to be woken.
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
			d.wake = protocol.Never // the timer has fired: it must be set anew
			d.step(&protocol.Event{Kind: protocol.Tick})
			d.deliver()
		case !d.closed:
			d.wake = protocol.Never
			d.arm(d.Now())
		}
		d.mu.Unlock()
	}
}

// isDue reports whether the machine wants to be woken by now. It is called with the mutex held.
func (d *Driver) isDue() bool { return !d.closed && d.machine.Wake() <= d.Now() }

// hearFirst lets what has arrived be stepped before the machine judges time: this process did not run when
// the time came, or its machine was at work, and what would have prevented what is judged may have waited
// for the same reason.
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
