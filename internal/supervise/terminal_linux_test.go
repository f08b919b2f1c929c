package supervise

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var terminalRoles = map[string]func(args []string) int{
	"role:jobcontrol": jobControl,
	"role:script":     plainScript,
}

// jobControl does what an interactive shell does: it starts a job in the background
// and, when a line was typed, brings it to the foreground and waits for its end.
func jobControl(args []string) int {
	signal.Ignore(syscall.SIGTTOU)
	job := exec.Command(args[0], args[1:]...)
	job.Stdin, job.Stdout, job.Stderr = os.Stdin, os.Stdout, os.Stderr
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := job.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	// One byte at a time: what is typed after the line is the job's.
	for one := make([]byte, 1); one[0] != '\n'; {
		if _, err := os.Stdin.Read(one); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, job.Process.Pid); err != nil {
		fmt.Println(err)
		return 1
	}
	err := job.Wait()
	fmt.Println("job", err)
	return 0
}

// plainScript does what a shell script does: it runs one command in its own group
// and goes on. It waits for all that the command leaves behind, the guardian too.
func plainScript(args []string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	_, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	for err == nil || errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(-1, nil, 0, nil)
	}
	owner, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	fmt.Println("script home", err == nil && owner == syscall.Getpgrp())
	return 0
}

// screen is the other side of a terminal: what a person types and sees.
type screen struct {
	*output
	keyboard *os.File
}

func (s *screen) key(keys string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// lineMode reports whether the terminal is in canonical mode.
func (s *screen) lineMode() bool {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.keyboard.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return modes.Lflag&unix.ICANON != 0
}

// attach runs a role as the leader of a new session on a new terminal, without
// echo. Standard output goes to stdout if there is one, else to the terminal.
func attach(t *testing.T, args []string, stdout *os.File) (*exec.Cmd, *screen) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	modes, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	modes.Lflag &^= unix.ECHO
	modes.Lflag |= unix.NOFLSH // or a signal's key may discard what its receiver has answered
	modes.Oflag &^= unix.OPOST
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, modes); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, cmp.Or(stdout, slave), slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test has failed before its end
	return cmd, &screen{&output{t: t, lines: bufio.NewReader(master)}, master}
}

func expectStatus(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	if got := status(t, cmd); got != want {
		t.Errorf("status %d, want %d", got, want)
	}
}

func TestCommandHasTheTerminal(t *testing.T) {
	cmd, screen := attach(t, role("wrapper", role("foreground")...), nil)
	screen.expect("foreground true leader true")
	screen.key("hello\n")
	screen.expect("read hello")
	screen.expect("home true")
	expectStatus(t, cmd, 0)
}

const untilSignal = `echo ready; while :; do read line; done`

func TestInterruptKeyReachesTheCommand(t *testing.T) {
	cmd, screen := attach(t, role("wrapper", shell(`trap 'echo INT; exit 3' INT; `+untilSignal)...), nil)
	screen.expect("ready")
	screen.key("\x03")
	screen.expect("INT")
	screen.expect("home true")
	expectStatus(t, cmd, 3)
}

func TestQuitKeyEndsTheCommand(t *testing.T) {
	cmd, screen := attach(t, role("wrapper", shell(`ulimit -c 0; `+untilSignal)...), nil)
	screen.expect("ready")
	screen.key("\x1c")
	screen.expect("home true")
	expectStatus(t, cmd, 131)
}

func TestTerminalIsRestoredAfterASignalToTheWrapper(t *testing.T) {
	cmd, screen := attach(t, role("wrapper", shell(untilSignal)...), nil)
	screen.expect("ready")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	screen.expect("home true")
	expectStatus(t, cmd, 143)
}

func TestStopKeyIsRefused(t *testing.T) {
	cmd, screen := attach(t, role("wrapper", role("continued")...), nil)
	screen.expect("running")
	screen.key("\x1a")
	screen.expect("notice: the command cannot be stopped while it holds the lock and the terminal; it goes on")
	screen.expect("continued")
	screen.expect("home true")
	expectStatus(t, cmd, 0)
}

// The wrapper's output is a pipeline's: the terminal is handed over on demand only.
func TestPipelineKeepsTheTerminal(t *testing.T) {
	out := newOutput(t)
	cmd, screen := attach(t, role("wrapper", role("foreground")...), out.w)
	out.opened()
	out.expect("foreground false leader true")
	screen.key("hello\n")
	out.expect("read hello")
	out.expect("home true")
	out.expectEnd()
	expectStatus(t, cmd, 0)
}

// Typed while the wrapper's group has the terminal, the key takes the long way.
func TestInterruptKeyIsForwarded(t *testing.T) {
	out := newOutput(t)
	cmd, screen := attach(t, role("wrapper", shell(`trap 'echo INT; exit 3' INT; echo ready; while :; do read line; done <"$1"`, fifo(t))...), out.w)
	out.opened()
	out.expect("ready")
	screen.key("\x1a\x03") // the stop key stops no process
	out.expect("INT")
	out.expect("home true")
	expectStatus(t, cmd, 3)
}

func TestBackgroundJobIsBroughtToTheForeground(t *testing.T) {
	cmd, screen := attach(t, role("jobcontrol", role("wrapper", role("foreground")...)...), nil)
	screen.expect("foreground false leader true")
	screen.expect("notice: the command waits for the terminal; fg gives it back")
	screen.key("fg\n")
	screen.key("hello\n")
	screen.expect("read hello")
	screen.expect("home true")
	screen.expect("job <nil>")
	expectStatus(t, cmd, 0)
}

func TestTerminalModes(t *testing.T) {
	for name, c := range map[string]struct {
		script   string
		status   int
		lineMode bool
	}{
		"of a command that set them and ended stay": {"stty -icanon", 0, false},
		"of a command that was killed are put back": {"stty -icanon; kill -KILL $$", 137, true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, screen := attach(t, role("wrapper", shell(c.script)...), nil)
			screen.expect("home true")
			if got := screen.lineMode(); got != c.lineMode {
				t.Errorf("line mode %v, want %v", got, c.lineMode)
			}
			expectStatus(t, cmd, c.status)
		})
	}
}

// A script goes on after its wrapper was killed, and has its terminal as it was.
func TestGuardianPutsTheTerminalBack(t *testing.T) {
	cmd, screen := attach(t, role("script", role("wrapper", shell("stty -icanon; kill -KILL $PPID; "+untilSignal)...)...), nil)
	line, err := screen.lines.ReadString('\n')
	if strings.TrimSpace(line) == "ready" { // it may or may not come that far
		line, err = screen.lines.ReadString('\n')
	}
	if err != nil || strings.TrimSpace(line) != "script home true" {
		t.Fatalf("read %q (%v)", line, err)
	}
	if !screen.lineMode() {
		t.Error("the terminal's modes are the killed command's")
	}
	expectStatus(t, cmd, 0)
}
