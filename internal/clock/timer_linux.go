package clock

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootTimer is a timerfd on CLOCK_BOOTTIME, read by a goroutine of its own through
// the runtime's poller.
type bootTimer struct {
	file *os.File
	fd   int
	c    chan struct{}
	done chan struct{}

	mu      sync.Mutex
	stopped bool
}

// NewTimer returns a timer on CLOCK_BOOTTIME that is not armed. It panics when the
// process has no file descriptor left, since nothing can be timed then.
func (*real) NewTimer() Timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		panic(fmt.Sprintf("creating a timer: %v", err))
	}
	t := &bootTimer{
		file: os.NewFile(uintptr(fd), "timerfd"),
		fd:   fd,
		c:    make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	go t.read()
	return t
}

func (t *bootTimer) read() {
	defer close(t.done)
	var expirations [8]byte
	for {
		if _, err := t.file.Read(expirations[:]); err != nil {
			return // closed by Stop
		}
		select {
		case t.c <- struct{}{}:
		default:
		}
	}
}

func (t *bootTimer) C() <-chan struct{} { return t.c }

func (t *bootTimer) Reset(at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	var spec unix.ItimerSpec // zero disarms
	if at != Never {
		spec.Value = unix.NsecToTimespec(int64(max(at, 1)))
	}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		panic(fmt.Sprintf("arming a timer: %v", err))
	}
}

func (t *bootTimer) Stop() {
	t.mu.Lock()
	if t.stopped {
		t.mu.Unlock()
		return
	}
	t.stopped = true
	t.file.Close()
	t.mu.Unlock()
	<-t.done
}
