//go:build unix

package supervise

import (
	"fmt"
	"os"
	"syscall"
)

// Exit is how a command ended: by itself with a code, or by a signal.
type Exit struct {
	Code   int            // exit code of the command; 0 if a signal ended it
	Signal syscall.Signal // the signal that ended it; 0 if it ended by itself
}

// Status returns the exit status that reports e: the command's own code, or 128+n if signal n ended it.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return SignalStatus(e.Signal)
	}
	return e.Code
}

// String describes how the command ended, as the end of a sentence.
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("ended by signal %d (%v)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exited with %d", e.Code)
}

// SignalStatus returns 128+n, the exit status of a process that signal n has ended.
func SignalStatus(sig os.Signal) int {
	number, ok := sig.(syscall.Signal)
	if !ok {
		panic(fmt.Sprintf("supervise: %v is not a signal of this system", sig))
	}
	return 128 + int(number)
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}
