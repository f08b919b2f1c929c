//go:build unix

package supervise

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// The names (argument 0) under which this program is started again.
const (
	guardianName = "holdfast-guardian" // then: the command's group, the caller's group, the caller if it adopts, the mark, its other children
	starterName  = "holdfast-starter"  // then: gate, report, path, the command's arguments
)

// guardianTitle is what lists of processes show for a guardian. It does not begin
// like the caller's, so that pkill holdfast does not find it.
const guardianTitle = "lock-guardian"

// Exit statuses of a guardian or starter.
const (
	misuse    = 64 // it was not started by Start
	outOfTime = 3  // the guardian has killed the command at its deadline
)

// GuardianMain is to be called first in main, before flags are read and anything is
// opened. If this process was started by [Start] as guardian or starter, it does
// that work and does not return; otherwise it returns at once.
func GuardianMain() {
	switch os.Args[0] {
	case guardianName:
		guard(os.Args[1:])
	case starterName:
		become(os.Args[1:])
	default:
		return
	}
	os.Exit(misuse)
}

// guard waits for the caller's end or the deadline, and kills the group.
func guard(args []string) {
	if len(args) < 4 {
		return
	}
	numbers := make([]int, len(args))
	for i, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil && i != 3 {
			return
		}
		numbers[i] = n
	}
	id, home, mark := numbers[0], numbers[1], args[3]
	if id <= 1 {
		return
	}
	// Everything that can be caught is, and dropped: a guardian ends with its caller.
	// A terminal's stop signals must be ignored outright, or giving back the terminal
	// from the background would stop it.
	signal.Notify(make(chan os.Signal, 1))
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP)
	_ = os.Chdir("/") // keeps no file system busy; where it cannot, it does
	rename(guardianTitle)

	leash, err := newCollar(guardianLeash)
	if err != nil {
		return
	}
	command := openGroup(id)
	command.caller, command.except = numbers[2], append(numbers[4:], os.Getpid())
	terminal := openTerminal(home, id)
	ready := os.NewFile(guardianReady, "ready")
	if _, err := ready.Write([]byte{1}); err != nil {
		os.Exit(0) // the caller is gone, and the gate was never opened
	}
	_ = ready.Close() // nothing to flush

	ended := leash.wait(clock.Real())
	if ended {
		// What has left the group has another parent now.
		_ = command.signal(syscall.SIGKILL) // no process may be left, or one that is not ours to kill
		if mark != "" {
			for _, left := range marked(mark) {
				_ = syscall.Kill(left, syscall.SIGKILL) // likewise
			}
		}
		terminal.takeBack(true)
		os.Exit(0)
	}
	_ = command.signalAll(syscall.SIGKILL) // likewise
	command.emptied(time.After(dying), true)
	terminal.takeBack(true)
	os.Exit(outOfTime)
}
