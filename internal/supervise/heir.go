//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Heir is this program, started again by the guardian to do what the caller did not live to do, such as to release a
// lock. It starts only when all of the command has ended: see package documentation. Its output is /dev/null, and its
// working folder the root.
type Heir struct {
	// Args are the program's name and its arguments. Every user can list them.
	Args []string
	// Env is its environment, and the guardian's. It must not have the mark.
	Env []string
	// Input is its standard input, 1 to MostInput bytes, which no process can list.
	Input []byte
}

// MostInput is the longest input of an heir: what every pipe has room for while no process reads it.
const MostInput = 4096

// check returns what is wrong with an heir. A nil one is right.
func (h *Heir) check() error {
	switch {
	case h == nil:
		return nil
	case len(h.Args) == 0:
		return errors.New("start the command: the heir's Args are empty, want a name and arguments")
	case len(h.Input) > MostInput:
		return fmt.Errorf("start the command: the heir's Input has %d bytes, want up to %d", len(h.Input), MostInput)
	}
	return nil
}

// bequeath writes the heir's input into its pipe, where it stays until the heir reads it.
func (h *Heir) bequeath(to pipe) error {
	if h == nil {
		return nil
	}
	if _, err := to.w.Write(h.Input); err != nil {
		return fmt.Errorf("start the guardian: write the heir's input: %w", err)
	}
	return nil
}

// lingering is how long a guardian waits for the end of a killed command that has no deadline, when its caller has been
// killed.
const lingering = 10 * time.Second

// startHeir starts the heir, if there is one and the command was started, and waits for its end. A guardian has no way
// to report an error: without its heir a lock stays taken until it expires.
func startHeir(args, env []string) {
	input := []unix.PollFd{{Fd: guardianWill, Events: unix.POLLIN}}
	if _, err := unix.Poll(input, 0); len(args) == 0 || err != nil || input[0].Revents&unix.POLLIN == 0 {
		return
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	files := []uintptr{guardianWill, null.Fd(), null.Fd()}
	for range inherited() {
		files = append(files, closed)
	}
	pid, err := fork(args, env, files)
	for err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			err = nil
			continue
		}
		return
	}
}
