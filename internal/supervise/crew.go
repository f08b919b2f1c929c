//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
)

// crew are a command's processes before it runs: a guardian that waits for its task, and a starter at its gate.
type crew struct {
	lines    *lines
	guardian int
	starter  int
}

// early is the crew that was started while the program's packages were initialized; nil if there is none, or when it
// has been taken.
var early atomic.Pointer[crew]

// earlyCommand is the first argument of a program that will run a command, unless it finds a reason not to. The command
// comes after the argument "--".
const earlyCommand = "lock"

// startEarly starts a crew before the program knows what for, so that it begins while the rest of the program does. An
// error is left to Prepare, which tries again.
//
// The first process of a container has no early crew: its first thread must have no children. See Main.
func startEarly() {
	if len(os.Args) < 2 || os.Args[1] != earlyCommand || !slices.Contains(os.Args, "--") || os.Getpid() == 1 {
		return
	}
	if c, err := enlist(os.Stdin, os.Stdout, os.Stderr); err == nil {
		early.Store(c)
	}
}

// runAndExit does what Main does. An early crew ends with the program, and would do so without a signal, but a reader of
// the program's output might wait for it meanwhile.
func runAndExit(run func() int) {
	exit := run()
	if c := early.Swap(nil); c != nil {
		c.dismiss()
	}
	os.Exit(exit)
}

// crewFor returns the early crew if it has the right files, or else a new one.
func crewFor(stdin, stdout, stderr *os.File) (*crew, error) {
	if stdin == os.Stdin && stdout == os.Stdout && stderr == os.Stderr {
		if c := early.Swap(nil); c != nil {
			return c, nil
		}
	}
	return enlist(stdin, stdout, stderr)
}

// enlist starts a guardian and a starter. The thread that calls it must live as long as the command may: see starter.
func enlist(stdin, stdout, stderr *os.File) (*crew, error) {
	l, err := openLines()
	if err != nil {
		return nil, err
	}
	c := &crew{lines: l}
	err = c.fork(stdin, stdout, stderr)
	l.closeStarted()
	if err != nil {
		c.dismiss()
		return nil, err
	}
	return c, nil
}

func (c *crew) fork(stdin, stdout, stderr *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("start the guardian: %w", err)
	}
	defer null.Close()
	// Only the guardian's task says what it is for: the list of processes shows nothing of it.
	c.guardian, err = fork([]string{guardianName}, nil, guardianFiles(null, c.lines))
	if err != nil {
		return fmt.Errorf("start the guardian: %w", err)
	}
	files, gate, report := starterFiles(stdin, stdout, stderr, c.lines)
	c.starter, err = fork([]string{starterName, strconv.Itoa(gate), strconv.Itoa(report)}, os.Environ(), files)
	if err != nil {
		return fmt.Errorf("start the command: %w", err)
	}
	return nil
}

// dismiss ends a crew that has no task.
func (c *crew) dismiss() {
	for _, process := range []int{c.starter, c.guardian} {
		if process == 0 {
			continue
		}
		_ = syscall.Kill(process, syscall.SIGKILL) // it may have ended by itself
		for {
			// It is our child, so there is no other error.
			if _, err := syscall.Wait4(process, nil, 0, nil); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
	c.lines.closeOwn()
	c.lines.leash.close()
}
