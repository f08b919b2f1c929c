//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
)

// sentry is a guardian that waits for its task.
type sentry struct {
	process int
	lines   *lines
}

// early is the guardian that was started while the program's packages were initialized; nil if there is none, or when
// it was taken.
var early atomic.Pointer[sentry]

// earlyCommand is the first argument of a program that will run a command, unless it finds a reason not to. The command
// comes after the argument "--".
const earlyCommand = "lock"

// startEarly starts a guardian before the program knows what for, so that the one begins while the other does. An error
// is left to Prepare, which tries again.
//
// The first process of a container has no early guardian: its first thread must have no children. See Main.
func startEarly() {
	if len(os.Args) < 2 || os.Args[1] != earlyCommand || !slices.Contains(os.Args, "--") || os.Getpid() == 1 {
		return
	}
	if s, err := startSentry(); err == nil {
		early.Store(s)
	}
}

// runAndExit does what Main does. An early guardian ends with the program, too, but only after it.
func runAndExit(run func() int) {
	exit := run()
	if s := early.Swap(nil); s != nil {
		s.dismiss()
	}
	os.Exit(exit)
}

// takeSentry returns the early guardian, or else a new one.
func takeSentry() (*sentry, error) {
	if s := early.Swap(nil); s != nil {
		return s, nil
	}
	return startSentry()
}

func startSentry() (*sentry, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	defer null.Close()
	l, err := openLines()
	if err != nil {
		return nil, err
	}
	// Only the task says what a guardian is for: no list of processes shows it.
	process, err := fork([]string{guardianName}, nil, guardianFiles(null, l))
	l.closeTheirs()
	if err != nil {
		l.closeOwn()
		l.leash.close()
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	return &sentry{process, l}, nil
}

// dismiss ends a guardian that has no task.
func (s *sentry) dismiss() {
	_ = syscall.Kill(s.process, syscall.SIGKILL) // it may have ended by itself
	// It is our child, so no other error is possible.
	for err := error(syscall.EINTR); errors.Is(err, syscall.EINTR); {
		_, err = syscall.Wait4(s.process, nil, 0, nil)
	}
	s.lines.closeOwn()
	s.lines.leash.close()
}
