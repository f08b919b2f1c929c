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

// wordBytes is the length of a word on the leash, little endian. A deadline is a time of package clock in nanoseconds.
// The leash transfers that many bytes atomically.
const wordBytes = 8

// leash is the caller's end of the socket to the guardian. The first message is the guardian's task. Each later one is a
// word: a new deadline, or, less than zero, the number of the command's group, once. It closes when the caller ends.
type leash struct{ file *os.File }

// mostKept is how many files a task may have, less than every system's limit.
const mostKept = 128

// sendTask sends the first message. It blocks while a task that is larger than a socket's buffer is not read.
func (l leash) sendTask(t task, keep []*os.File) error {
	if len(keep) > mostKept {
		return fmt.Errorf("keep %d files: want at most %d", len(keep), mostKept)
	}
	message := t.encode()
	var files []int
	for _, file := range keep {
		files = append(files, int(file.Fd()))
	}
	err := l.send(message[:messageHead], files)
	runtime.KeepAlive(keep)
	if err == nil {
		_, err = l.file.Write(message[messageHead:])
	}
	return err
}

// sendGroup sends the command's group. A guardian that is gone needs none: its end ends the command.
func (l leash) sendGroup(g group) error {
	var files []int
	if g.handle != nil {
		files = append(files, int(g.handle.Fd()))
	}
	err := l.send(binary.LittleEndian.AppendUint64(nil, uint64(-g.id)), files)
	runtime.KeepAlive(g.handle)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// send sends a few bytes and files.
func (l leash) send(message []byte, files []int) error {
	conn, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); {
			failed = unix.Sendmsg(int(fd), message, rights, nil, 0)
		}
		return !errors.Is(failed, syscall.EAGAIN)
	})
	return errors.Join(err, failed)
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
	switch {
	case errors.Is(failed, syscall.EPIPE), errors.Is(failed, syscall.ECONNRESET), errors.Is(failed, syscall.EAGAIN):
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
	rest     []byte // of a partial word
	deadline time.Duration
	group    group // the command's, with id 0 until it is known
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
	for buffer := make([]byte, 64*wordBytes); !c.ended; {
		n, files, err := receive(c.fd, buffer, 1)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return c.deadline, false
		case err != nil || n == 0:
			c.ended = true
		}
		for c.rest = append(c.rest, buffer[:max(n, 0)]...); len(c.rest) >= wordBytes; c.rest = c.rest[wordBytes:] {
			word := int64(binary.LittleEndian.Uint64(c.rest))
			if word >= 0 {
				c.deadline = time.Duration(word)
				continue
			}
			c.group.id = int(-word)
			if len(files) > 0 {
				c.group.handle = os.NewFile(uintptr(files[0]), "pidfd")
			}
		}
	}
	return c.deadline, c.ended
}

// receive reads from a socket, together with at most that many files, which an exec will close.
func receive(socket int, buffer []byte, most int) (n int, files []int, err error) {
	rights := make([]byte, unix.CmsgSpace(most*4))
	length := 0
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		n, length, _, _, err = unix.Recvmsg(socket, buffer, rights, 0)
	}
	if err != nil || length == 0 {
		return n, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	for _, message := range messages {
		passed, failed := unix.ParseUnixRights(&message)
		files, err = append(files, passed...), errors.Join(err, failed)
	}
	for _, file := range files {
		unix.CloseOnExec(file)
	}
	return n, files, err
}

// command returns the command's group. Its id is 0 if the caller has not sent it.
func (c *collar) command() group {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.group
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
