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
	guardianName = "holdfast-guardian" // arguments: see Process.guardianTask
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

// A guardian or starter begins its work while the program's packages are initialized. The linker sorts them by path, and
// each comes as soon as those that it imports are there. So a program does this after a third of its packages, and in
// half of the time of a whole start, as long as this package imports few others, and none that comes late, as os/exec.
func init() { guardianMain() } //nolint:gochecknoinits // see above

// guardianMain does the work of a guardian or starter if [Prepare] has started this process as one, and does not return
// then; otherwise it returns at once.
func guardianMain() {
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

// task is what a guardian's arguments say.
type task struct {
	command, home int    // process groups: the command's, and the caller's
	caller        int    // the process that adopts what the command leaves running; 0 for none
	mark          string // see Command.Mark
	except        []int  // other children of the caller
	heir          []string
}

// parseTask parses the arguments; ok is false if they are not those of a guardian.
func parseTask(args []string) (o task, ok bool) {
	if len(args) < 5 {
		return o, false
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	o = task{command: number(args[0]), home: number(args[1]), caller: number(args[2]), mark: args[3]}
	count, rest := number(args[4]), args[5:]
	if o.command <= 1 || o.home < 0 || o.caller < 0 || count < 0 || count > len(rest) {
		return o, false
	}
	for _, other := range rest[:count] {
		o.except = append(o.except, number(other))
	}
	o.heir = rest[count:]
	return o, true
}

// guard waits for the caller's end or the deadline, kills the command, and starts the heir.
func guard(args []string) {
	task, ok := parseTask(args)
	if !ok {
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
	syscall.CloseOnExec(guardianLeash)
	syscall.CloseOnExec(guardianWill)
	command := openGroup(task.command)
	command.caller, command.except = task.caller, append(task.except, os.Getpid())
	terminal := openTerminal(task.home, task.command)
	ready := os.NewFile(guardianReady, "ready")
	if _, err := ready.Write([]byte{1}); err != nil {
		os.Exit(0) // the caller is gone, and the gate was never opened
	}
	_ = ready.Close() // nothing to flush

	code, limit := outOfTime, dying
	if leash.wait(clock.Real()) {
		command.caller = 0 // what it has adopted has another parent now
		code, limit = 0, leash.remaining(clock.Real())
	}
	command.kill(task.mark)
	terminal.takeBack(true)
	if command.killed(task.mark, time.After(limit)) {
		startHeir(task.heir)
	}
	os.Exit(code)
}
