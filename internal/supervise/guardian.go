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
	guardianName = "holdfast-guardian" // arguments: the command's group, the caller's group, the caller if it adopts, the mark, its other children
	starterName  = "holdfast-starter"  // arguments: gate, report, path, the command's arguments
)

// guardianTitle is a guardian's name in process lists. It does not begin like the caller's, so that pkill holdfast does
// not find it.
const guardianTitle = "lock-guardian"

// Exit statuses of a guardian or starter.
const (
	misuse    = 64 // not started by Start
	outOfTime = 3  // the guardian has killed the command at its deadline
)

// GuardianMain must be called first in main, before flags are parsed or anything is opened. If [Start] started this
// process as guardian or starter, it does that work and does not return; otherwise it returns at once.
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
	// All catchable signals are caught and dropped: a guardian ends with its caller. A terminal's stop signals must be
	// ignored outright, or giving back the terminal from the background would stop it.
	signal.Notify(make(chan os.Signal, 1))
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP)
	_ = os.Chdir("/") // to keep no file system busy; best effort
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
		// Processes that have left the group have another parent now.
		_ = command.signal(syscall.SIGKILL) // no process may be left, or one that we may not kill
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
