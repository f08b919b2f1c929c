//go:build unix

package supervise

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// The names (argument 0) under which this program is started again.
const (
	guardianName = "holdfast-guardian" // then: the command's group, the caller's group
	starterName  = "holdfast-starter"  // then: gate, report, path, the command's arguments
)

// guardianTitle is what lists of processes show for a guardian. It does not begin
// like the caller's, so that pkill holdfast does not find it.
const guardianTitle = "lock-guardian"

// misuse is the exit status of a guardian or starter that somebody else started.
const misuse = 64

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

// guard waits for the caller's end, and kills the group.
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

	command := openGroup(id)
	terminal := openTerminal(home, id)
	ready := os.NewFile(guardianReady, "ready")
	if _, err := ready.Write([]byte{1}); err != nil {
		os.Exit(0) // the caller is gone, and the gate was never opened
	}
	_ = ready.Close() // nothing to flush

	// Nobody writes to the leash, so a read ends when the leash does.
	_, _ = os.NewFile(guardianLeash, "leash").Read(make([]byte, 1))
	_ = command.signal(syscall.SIGKILL) // there may be nobody left to kill
	terminal.takeBack(true)
	os.Exit(0)
}
