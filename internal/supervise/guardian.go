//go:build unix

package supervise

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// The names (argument 0) under which this program is started again.
const (
	guardianName = "holdfast-guardian" // then: the command's group, the caller's group
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
	if len(args) != 2 {
		return
	}
	id, noCommand := strconv.Atoi(args[0])
	home, noHome := strconv.Atoi(args[1])
	if noCommand != nil || noHome != nil || id <= 1 {
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
	terminal := openTerminal(home, id)
	ready := os.NewFile(guardianReady, "ready")
	if _, err := ready.Write([]byte{1}); err != nil {
		os.Exit(0) // the caller is gone, and the gate was never opened
	}
	_ = ready.Close() // nothing to flush

	ended := leash.wait(clock.Real())
	_ = command.signal(syscall.SIGKILL) // no process may be left, or one that is not ours to kill
	terminal.takeBack(true)
	if !ended {
		os.Exit(outOfTime)
	}
	os.Exit(0)
}
