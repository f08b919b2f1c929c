//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// sentry is a guardian that waits for its task.
type sentry struct {
	process int
	lines   *lines
}

// early has the guardian that is started while the program's packages are initialized, if there is one, until it is
// taken. It is closed when there is no other to come.
var early = begin()

// earlyCommand is the first argument of a program that will run a command, unless it finds a reason not to. The command
// comes after the argument "--".
const earlyCommand = "lock"

// begin does all that is done while this package is initialized: the whole work of a guardian or starter, or else the
// start of an early guardian, before the program knows what for, so that the two begin at the same time. An error of
// that is left to Prepare, which tries again.
//
// The guardian is started by a goroutine: a thread that starts a process stands still until that runs, a millisecond in
// which this one initializes further packages.
//
// The linker sorts packages by path, and each comes as soon as those that it imports are there. So this one comes after
// a third of a program's packages, in half of the time of a whole start, as long as it imports few others, and none that
// comes late, as os/exec.
//
// The first process of a container has no early guardian: its first thread must have no children. See Main.
func begin() chan *sentry {
	guardianMain()
	begun := make(chan *sentry, 1)
	if len(os.Args) < 2 || os.Args[1] != earlyCommand || !slices.Contains(os.Args, "--") || os.Getpid() == 1 {
		close(begun)
		return begun
	}
	go func() {
		defer close(begun)
		if s, err := startSentry(); err == nil {
			begun <- s
		}
	}()
	return begun
}

// runAndExit does what Main does. An early guardian ends with the program, too, but only after it.
func runAndExit(run func() int) {
	exit := run()
	if s := <-early; s != nil {
		s.dismiss()
	}
	os.Exit(exit)
}

// takeSentry returns the early guardian, or else a new one.
func takeSentry() (*sentry, error) {
	if s := <-early; s != nil {
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
