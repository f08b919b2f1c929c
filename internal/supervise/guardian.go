//go:build unix

package supervise

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// The names (argument 0) under which this program is started again.
const (
	guardianName = "holdfast-guardian" // no arguments: see readTask
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

// task is what the caller sends to its guardian.
type task struct {
	home          int    // the caller's process group
	caller        int    // the process that adopts what the command leaves running; 0 for none
	mark          string // see Command.Mark
	except        []int  // other children of the caller
	heir, heirEnv []string
}

func (t task) encode() []byte {
	var except []string
	for _, other := range t.except {
		except = append(except, strconv.Itoa(other))
	}
	first := []string{strconv.Itoa(t.home), strconv.Itoa(t.caller), t.mark}
	return encodeLists(first, except, t.heir, t.heirEnv)
}

// readTask reads the task from the guardian's end of the leash, with the files that come with it (Command.Keep): they
// are only kept open. The error is io.EOF if the caller is gone, or has no task.
func readTask(leash int) (t task, err error) {
	head := make([]byte, messageHead)
	n, _, err := receive(leash, head, mostKept) // the files stay open until this process ends
	switch {
	case err != nil:
		return t, err
	case n == 0:
		return t, io.EOF
	case n < len(head):
		return t, errNoMessage
	}
	lists, err := readBody(descriptor(leash), head, 4)
	if err != nil {
		return t, err
	}
	if len(lists[0]) != 3 {
		return t, errNoMessage
	}
	number := func(text string) int {
		n, wrong := strconv.Atoi(text)
		err = errors.Join(err, wrong)
		return n
	}
	t = task{
		home: number(lists[0][0]), caller: number(lists[0][1]), mark: lists[0][2],
		heir: lists[2], heirEnv: lists[3],
	}
	for _, other := range lists[1] {
		t.except = append(t.except, number(other))
	}
	if t.home < 0 || t.caller < 0 {
		err = errors.Join(err, errNoMessage)
	}
	return t, err
}

// descriptor reads from a file that it does not own.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(d), p)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// guard waits for the caller's end or the deadline, kills the command, and starts the heir.
func guard(args []string) {
	if len(args) > 0 {
		return
	}
	// A guardian ends with its caller, and by no signal that can be caught. Those that would end it are caught and dropped;
	// Go drops the others by itself, and to catch each of them, too, takes a millisecond. A terminal's stop signals must
	// be ignored outright, or giving back the terminal from the background would stop it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTERM)
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP)
	_ = os.Chdir("/") // to keep no file system busy; best effort
	rename(guardianTitle)

	task, err := readTask(guardianLeash)
	if errors.Is(err, io.EOF) {
		os.Exit(0) // there will be no command
	}
	if err != nil {
		return
	}
	leash, err := newCollar(guardianLeash)
	if err != nil {
		return
	}
	syscall.CloseOnExec(guardianLeash)
	syscall.CloseOnExec(guardianWill)
	caller, terminal := openCaller(), openTerminal(task.home, 0)
	ready := os.NewFile(guardianReady, "ready")
	if _, err := ready.Write([]byte{1}); err != nil {
		os.Exit(0) // the caller is gone, and the command has not run
	}
	_ = ready.Close() // nothing to flush

	code, ended := outOfTime, leash.wait(clock.Real())
	if leash.command().id == 0 {
		// The caller may have started the command just now, or be about to. When it is gone, it cannot, and the kernel
		// has killed one that does not show its mark yet.
		if !ended {
			caller.kill()
		}
		if ended = caller.gone(dying); !ended {
			os.Exit(code) // without an heir
		}
		leash.read()
	}
	command := leash.command()
	command.caller, command.except = task.caller, append(task.except, os.Getpid())
	terminal.belongTo(command.id)
	limit := dying
	if ended {
		command.caller = 0 // what it has adopted has another parent now
		code, limit = 0, leash.remaining(clock.Real())
	}
	command.kill(task.mark)
	terminal.takeBack(true)
	if command.killed(task.mark, time.After(limit)) {
		startHeir(task.heir, task.heirEnv)
	}
	os.Exit(code)
}
