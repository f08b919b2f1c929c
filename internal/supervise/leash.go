//go:build unix

package supervise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// deadlineBytes is the length of a deadline on the leash: a time of package clock in nanoseconds, little endian. The
// leash transfers that many bytes atomically.
const deadlineBytes = 8

// leash is the caller's end of the socket to the guardian: the first message is the guardian's task, each later one a
// new deadline, and it closes when the caller ends.
type leash struct{ file *os.File }

// mostKept is how many files a task may have, less than every system's limit.
const mostKept = 128

// sendTask sends the first message. It blocks while a task that is larger than a socket's buffer is not read.
func (l leash) sendTask(t task, keep []*os.File) error {
	if len(keep) > mostKept {
		return fmt.Errorf("keep %d files: want at most %d", len(keep), mostKept)
	}
	conn, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	message := t.encode()
	var rights []byte
	if len(keep) > 0 {
		var files []int
		for _, file := range keep {
			files = append(files, int(file.Fd()))
		}
		rights = unix.UnixRights(files...)
	}
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		failed = unix.Sendmsg(int(fd), message[:messageHead], rights, nil, 0)
		return !errors.Is(failed, syscall.EAGAIN) && !errors.Is(failed, syscall.EINTR)
	})
	runtime.KeepAlive(keep)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	_, err = l.file.Write(message[messageHead:])
	return err
}

// sendDeadline sends a deadline and never blocks. A guardian that is gone needs none: its end has ended the command.
// One that has read nothing for hundreds of deadlines acts on the last that fit in its socket, which is sooner.
func (l leash) sendDeadline(deadline time.Duration) error {
	conn, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	message := binary.LittleEndian.AppendUint64(nil, uint64(deadline))
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		_, failed = syscall.Write(int(fd), message)
		return true
	})
	if errors.Is(failed, syscall.EPIPE) || errors.Is(failed, syscall.EAGAIN) {
		failed = nil
	}
	return errors.Join(err, failed)
}

func (l leash) close() { _ = l.file.Close() } // nothing to flush

// collar is the guardian's end of the leash.
type collar struct {
	fd   int
	news chan struct{} // the deadline has moved, or the leash has closed

	mu       sync.Mutex
	rest     []byte // of a partial message
	deadline time.Duration
	ended    bool
}

// newCollar starts to read a leash. There is no deadline before the first message.
func newCollar(fd int) (*collar, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	c := &collar{fd: fd, news: make(chan struct{}, 1), deadline: clock.Never}
	conn, err := os.NewFile(uintptr(fd), "leash").SyscallConn()
	if err != nil {
		return nil, err
	}
	go func() {
		// It returns when the leash closes, which read handles.
		_ = conn.Read(func(uintptr) bool {
			_, ended := c.read()
			select {
			case c.news <- struct{}{}:
			default:
			}
			return ended
		})
	}()
	return c, nil
}

// read reads everything that the caller has sent, and returns the deadline and whether the leash has closed. So a
// guardian that did not run for a while learns of a later deadline before it acts on an earlier one.
func (c *collar) read() (deadline time.Duration, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for buffer := make([]byte, 64*deadlineBytes); !c.ended; {
		n, err := syscall.Read(c.fd, buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return c.deadline, false
		case err != nil || n == 0:
			c.ended = true
		}
		for c.rest = append(c.rest, buffer[:max(n, 0)]...); len(c.rest) >= deadlineBytes; c.rest = c.rest[deadlineBytes:] {
			c.deadline = time.Duration(binary.LittleEndian.Uint64(c.rest))
		}
	}
	return c.deadline, c.ended
}

// remaining returns how long a guardian waits for the end of what it has killed, when its caller has gone: until the
// last deadline, after which what the command protects may go to another, and its heir would be late.
func (c *collar) remaining(clock clock.Clock) time.Duration {
	deadline, _ := c.read()
	if left := deadline - clock.Now(); left < lingering {
		return max(left, dying)
	}
	return lingering
}

// wait returns when the leash has closed, or at the deadline.
func (c *collar) wait(clock clock.Clock) (ended bool) {
	timer := clock.NewTimer()
	defer timer.Stop()
	for {
		deadline, ended := c.read()
		if ended || clock.Now() >= deadline {
			return ended
		}
		timer.Reset(deadline)
		select {
		case <-timer.C():
		case <-c.news:
		}
	}
}
