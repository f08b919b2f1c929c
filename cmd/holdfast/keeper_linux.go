package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// witness is the process for whose lifetime a keeper keeps. On Linux it is a pidfd, which refers to that process even
// if its number is reused, and which the keeper inherits.
type witness struct {
	pid    int
	handle *os.File
}

func openWitness(pid int) (*witness, error) {
	descriptor, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return nil, errors.New("there is no such process")
	case errors.Is(err, syscall.EINVAL):
		return nil, errors.New("it is a thread, not a process")
	case err != nil:
		return nil, fmt.Errorf("open a descriptor of it: %w", err)
	}
	return &witness{pid, os.NewFile(uintptr(descriptor), "witness")}, nil
}

// files returns the files that the keeper inherits, from keeperWitness on.
func (w *witness) files() []*os.File { return []*os.File{w.handle} }

func (w *witness) close() {
	_ = w.handle.Close() // nothing to flush
}

// awaitEnd returns a channel that is closed when the inherited process has ended.
func awaitEnd(int) (<-chan struct{}, error) {
	watched := []unix.PollFd{{Fd: keeperWitness, Events: unix.POLLIN}}
	if _, err := unix.FcntlInt(keeperWitness, unix.F_GETFD, 0); err != nil {
		return nil, fmt.Errorf("look at the inherited descriptor: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			watched[0].Revents = 0
			_, err := unix.Poll(watched, -1)
			if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN) {
				continue
			}
			return // it has ended; or it cannot be watched, and then nothing is kept for it
		}
	}()
	return over, nil
}
