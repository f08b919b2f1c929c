//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// witness is the process for whose lifetime a keeper keeps, by its number: these systems have no inheritable handle of
// a process. The number could be reused between the checks by acquire and by the keeper, which are close together
// unless acquire has to wait for the lock.
type witness struct{ pid int }

func openWitness(pid int) (*witness, error) {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return nil, errors.New("there is no such process")
	}
	return &witness{pid}, nil
}

// files returns the files that the keeper inherits.
func (w *witness) files() []*os.File { return nil }

func (w *witness) close() {}

// awaitEnd returns a channel that is closed when the process has ended.
func awaitEnd(pid int) (<-chan struct{}, error) {
	over := make(chan struct{})
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, fmt.Errorf("open an event queue: %w", err)
	}
	unix.CloseOnExec(queue)
	var event unix.Kevent_t
	unix.SetKevent(&event, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	event.Fflags = unix.NOTE_EXIT
	_, err = unix.Kevent(queue, []unix.Kevent_t{event}, nil, nil)
	if errors.Is(err, syscall.ESRCH) {
		close(over)
		return over, unix.Close(queue)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for an event: %w", err)
	}
	go func() {
		defer close(over)
		events := make([]unix.Kevent_t, 1)
		for {
			if _, err := unix.Kevent(queue, nil, events, nil); !errors.Is(err, syscall.EINTR) {
				return // it has ended; or it cannot be watched, and then nothing is kept for it
			}
		}
	}()
	return over, nil
}
