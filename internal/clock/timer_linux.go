package clock

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bell is a clock's single timerfd on CLOCK_BOOTTIME. All timers share it, so that a process with thousands of them
// needs one descriptor and one goroutine. It exists while there are timers.
type bell struct {
	mu     sync.Mutex
	file   *os.File // nil without timers
	fd     int
	set    Queue
	armed  time.Duration // what the timerfd is set to
	timers int
}

// bootTimer is a timer on a bell, whose mutex guards it.
type bootTimer struct {
	bell    *bell
	alarm   Alarm
	c       chan struct{}
	stopped bool
}

// NewTimer returns an unarmed timer on CLOCK_BOOTTIME. It panics if it is the only one of the clock and no file
// descriptor is left, since nothing can be timed then.
func (c *real) NewTimer() Timer {
	b := &c.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timers == 0 {
		b.hang()
	}
	b.timers++
	t := &bootTimer{bell: b, c: make(chan struct{}, 1)}
	t.alarm.Ring = t.fire
	return t
}

// hang makes the timerfd. It is called with the mutex held.
func (b *bell) hang() {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		panic(fmt.Sprintf("creating a timer: %v", err))
	}
	b.file, b.fd, b.armed = os.NewFile(uintptr(fd), "timerfd"), fd, Never
	go b.listen(b.file)
}

// listen rings due alarms whenever the timerfd fires, through the runtime's poller, until it is closed with the last
// timer.
func (b *bell) listen(file *os.File) {
	var expirations [8]byte
	for {
		if _, err := file.Read(expirations[:]); err != nil {
			return
		}
		b.ring(file, bootTime())
	}
}

// ring rings all alarms due at now, unless the timerfd was closed meanwhile.
func (b *bell) ring(file *os.File, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != file {
		return
	}
	b.armed = Never
	for a := b.set.Due(now); a != nil; a = b.set.Due(now) {
		a.Ring()
	}
	b.arm()
}

// arm sets the timerfd to the first alarm. It is called with the mutex held.
func (b *bell) arm() {
	first := b.set.First()
	if first == b.armed {
		return
	}
	var spec unix.ItimerSpec // zero disarms
	if first != Never {
		spec.Value = unix.NsecToTimespec(int64(max(first, 1)))
	}
	if err := unix.TimerfdSettime(b.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		panic(fmt.Sprintf("arming a timer: %v", err))
	}
	b.armed = first
}

func (t *bootTimer) fire() {
	select {
	case t.c <- struct{}{}:
	default:
	}
}

func (t *bootTimer) C() <-chan struct{} { return t.c }

func (t *bootTimer) Reset(at time.Duration) {
	b := t.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.stopped {
		return
	}
	if at == Never {
		b.set.Stop(&t.alarm)
	} else {
		b.set.Set(&t.alarm, at)
	}
	if b.set.First() < b.armed {
		b.arm() // a timerfd set to an earlier time fires in vain, and is then armed again
	}
}

func (t *bootTimer) Stop() {
	b := t.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.stopped {
		return
	}
	t.stopped = true
	b.set.Stop(&t.alarm)
	if b.timers--; b.timers == 0 {
		b.file.Close()
		b.file = nil
	}
}
