//go:build unix

package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestExitIsTheCommandsOwn(t *testing.T) {
	for script, want := range map[string]struct {
		exit   Exit
		status int
	}{
		"exit 0":        {Exit{}, 0},
		"exit 7":        {Exit{Code: 7}, 7},
		"exit 255":      {Exit{Code: 255}, 255},
		"kill -TERM $$": {Exit{Signal: syscall.SIGTERM}, 143},
		"kill -KILL $$": {Exit{Signal: syscall.SIGKILL}, 137},
	} {
		t.Run(script, func(t *testing.T) {
			p, out := start(t, Command{Args: shell(script)})
			expectExit(t, p, want.exit)
			if got := want.exit.Status(); got != want.status {
				t.Errorf("status %d, want %d", got, want.status)
			}
			out.expectEnd()
		})
	}
}

func TestCommandThatCannotRun(t *testing.T) {
	folder := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	file("plain", "#!/bin/sh\n", 0o644)
	cases := []struct {
		command, reason string
		status          int
	}{
		{"no-such-command", "not found in PATH", 127},
		{"", "not found in PATH", 127},
		{folder + "/nothing", "not found", 127},
		{"plain", "not executable: permission denied", 126},
		{folder + "/plain", "not executable: permission denied", 126},
		{folder, "not executable: it is a folder", 126},
		{file("bare", "echo no interpreter\n", 0o755), "neither a program", 126},
		{file("lost", "#!/no/such/interpreter\n", 0o755), "interpreter does not exist", 126},
	}
	for _, c := range cases {
		p, err := Start(t.Context(), Command{Args: []string{c.command}})
		var refused *StartError
		if !errors.As(err, &refused) {
			t.Errorf("%q: process %v, error %v, want a StartError", c.command, p, err)
			continue
		}
		if refused.Status != c.status || !strings.Contains(refused.Error(), c.reason) {
			t.Errorf("%q: %d, %q; want %d, %q", c.command, refused.Status, refused, c.status, c.reason)
		}
	}
	if _, err := Start(t.Context(), Command{}); err == nil {
		t.Error("a command without a name was started")
	}
}

func TestCommandDoesNotRunWhenTheLockIsGone(t *testing.T) {
	lost := errors.New("lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(lost)
	out := newOutput(t)
	if _, err := Start(ctx, Command{Args: shell("echo ran"), Stdout: out.w}); !errors.Is(err, lost) {
		t.Fatalf("error %v, want %v", err, lost)
	}
	out.opened()
	out.expectEnd()
}

func TestStandardFilesAreTheCommands(t *testing.T) {
	in := newOutput(t)
	if _, err := in.w.WriteString("from the caller\n"); err != nil {
		t.Fatal(err)
	}
	in.opened()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rest := make([]byte, 100)
	p, out := start(t, Command{Args: shell("cat; echo to stderr >&2"), Stdin: fileOf(t, in), Stderr: w})
	w.Close()
	out.expect("from the caller")
	if n, err := r.Read(rest); string(rest[:n]) != "to stderr\n" {
		t.Errorf("standard error: %q, %v", rest[:n], err)
	}
	expectExit(t, p, Exit{})
}

// fileOf returns a file with what was written to o.
func fileOf(t *testing.T, o *output) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(path, []byte(o.rest()), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestEnvironmentIsExact(t *testing.T) {
	p, out := start(t, Command{
		Args: []string{"env"},
		Env:  []string{"A=1", "HOLDFAST_LOCK_TOKEN=old", "B=two words", "HOLDFAST_LOCK_TOKEN=new"},
	})
	if got, want := out.rest(), "A=1\nHOLDFAST_LOCK_TOKEN=new\nB=two words\n"; got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	expectExit(t, p, Exit{})
}

func TestArgumentsAndGroup(t *testing.T) {
	p, out := start(t, Command{Args: shell(`echo "$#:$1:$2"; kill -USR1 -$$`, "a b", "")})
	out.expect("2:a b:")
	expectExit(t, p, Exit{Signal: syscall.SIGUSR1}) // so $$ is the group's id, and USR1 not ignored
}

// The command has the caller's inherited files, and none of the starter's.
func TestFilesOfTheCommand(t *testing.T) {
	out := newOutput(t)
	cmd := exec.Command(self, role("wrapper", shell("echo to three >&3; for n in 4 5 6 7 8 9; do if (: >&$n) 2>/dev/null; then echo open $n; fi; done")...)[1:]...)
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{out.w}
	cmd.Stdout = out.w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.opened()
	out.expect("to three")
	out.expectEnd()
	if got := status(t, cmd); got != 0 {
		t.Errorf("status %d", got)
	}
}

// A whole group that obeys TERM is gone before the grace is over; were it waited
// for, the test would not end.
func TestTerminateEndsEarly(t *testing.T) {
	p, out := start(t, Command{Args: shell(`sh -c 'echo child; exec cat' <"$1" & echo command; wait`, fifo(t))})
	if first := out.twoLines(); first != "child command" && first != "command child" {
		t.Fatalf("read %q", first)
	}
	if err := p.Terminate(time.Hour); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	expectExit(t, p, Exit{Signal: syscall.SIGTERM})
}

// twoLines reads two lines, in any order in which two processes wrote them.
func (o *output) twoLines() string {
	o.t.Helper()
	one, _ := o.lines.ReadString('\n')
	two, err := o.lines.ReadString('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.TrimSpace(one) + " " + strings.TrimSpace(two)
}

// fifo returns a pipe with a name, held open so that reading it waits for ever.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return path
}

// stubborn ignores TERM and ends with nothing but KILL.
const stubborn = `sh -c 'trap "" TERM; echo stubborn; cat' <"$1" & `

func TestTerminateKillsWhatIgnoresIt(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		grace  time.Duration
		exit   Exit
	}{
		"the command ends, its child stays": {`trap 'exit 3' TERM; ` + stubborn + `wait`, 50 * time.Millisecond, Exit{Code: 3}},
		"the command ignores TERM too":      {`trap '' TERM; ` + stubborn + `wait`, 50 * time.Millisecond, Exit{Signal: syscall.SIGKILL}},
		"without a grace":                   {`trap 'exit 3' TERM; ` + stubborn + `wait`, 0, Exit{Signal: syscall.SIGKILL}},
	} {
		t.Run(name, func(t *testing.T) {
			p, out := start(t, Command{Args: shell(c.script, fifo(t))})
			out.expect("stubborn")
			if err := p.Terminate(c.grace); err != nil {
				t.Fatal(err)
			}
			out.expectEnd()
			expectExit(t, p, c.exit)
		})
	}
}

func TestTerminateReachesStopped(t *testing.T) {
	p, out := start(t, Command{Args: shell(`echo ready; kill -STOP $$; echo not reached`)})
	out.expect("ready")
	if err := p.Terminate(time.Hour); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil || exit.Signal != syscall.SIGTERM {
		t.Fatalf("the command %v (%v)", exit, err)
	}
}

// What the command leaves running goes on; Terminate can still end it, because the
// lock may turn out to be lost just then.
func TestBackgroundIsLeftAlone(t *testing.T) {
	path := fifo(t)
	p, out := start(t, Command{Args: shell(`cat <"$1" & exit 4`, path)})
	expectExit(t, p, Exit{Code: 4})
	if err := os.WriteFile(path, []byte("still here\n"), 0); err != nil {
		t.Fatal(err)
	}
	out.expect("still here")
	if !p.group.alive() {
		t.Error("the background process is not seen")
	}
	if err := p.Terminate(0); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	if err := p.signal(syscall.SIGTERM); err != nil {
		t.Errorf("signal after the end: %v", err)
	}
}

// A prepared command runs with what is known only when it starts.
func TestPrepared(t *testing.T) {
	out := newOutput(t)
	c := Command{Args: shell(`echo "$LATE in $0"`), Stdout: out.w, Env: []string{"LATE=too early"}}
	prepared, err := Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	large := "LARGE=" + strings.Repeat("x", 100_000) // more than a pipe has room for
	c.Env = append(os.Environ(), "LATE=known", large)
	p, err := prepared.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	out.opened()
	out.expect("known in sh")
	expectExit(t, p, Exit{})
	out.expectEnd()
}

// A command that is abandoned does not run, and leaves no process.
func TestAbandoned(t *testing.T) {
	out := newOutput(t)
	prepared, err := Prepare(Command{Args: shell("echo ran"), Stdout: out.w, Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	out.opened()
	id, guardian := prepared.process.group.id, guardianOf(prepared.process)
	prepared.Abandon()
	out.expectEnd()
	for _, process := range []int{id, guardian} {
		if err := syscall.Kill(process, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", process, err)
		}
	}
	if _, err := Prepare(Command{Args: []string{"no-such-command"}}); err == nil {
		t.Error("a command that does not exist was prepared")
	}
}
