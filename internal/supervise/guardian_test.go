//go:build unix

package supervise

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func guardianOf(p *Process) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.guardian
}

// The wrapper is killed in the way that leaves it no last word. The pipe ends only
// when command and grandchildren are dead.
func TestKilledWrapperTakesTheGroupAlong(t *testing.T) {
	cmd, out := spawn(t, role("wrapper", shell(`trap '' TERM HUP INT; `+stubborn+`wait; echo "not reached"`, fifo(t))...))
	out.expect("stubborn")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	if got := status(t, cmd); got != 137 {
		t.Errorf("status %d, want 137", got)
	}
}

// The command finds its wrapper where it expects it: as its parent.
func TestCommandKillsItsWrapper(t *testing.T) {
	cmd, out := spawn(t, role("wrapper", shell(`(echo grandchild; kill -KILL $PPID; cat) <"$1" & wait; echo "not reached"`, fifo(t))...))
	out.expect("grandchild")
	out.expectEnd()
	if got := status(t, cmd); got != 137 {
		t.Errorf("status %d, want 137", got)
	}
}

func TestKilledGuardianEndsTheCommand(t *testing.T) {
	p, out := start(t, Command{Args: shell(stubborn+`wait`, fifo(t))})
	out.expect("stubborn")
	if err := syscall.Kill(guardianOf(p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	exit, err := p.Wait()
	if !errors.Is(err, ErrGuardian) || exit.Signal != syscall.SIGKILL {
		t.Errorf("the command %v (%v)", exit, err)
	}
}

// A guardian outlives what a person may send to it by mistake.
func TestGuardianIgnoresSignals(t *testing.T) {
	p, out := start(t, Command{Args: shell(`echo ready; read line <"$1"`, fifo(t))})
	out.expect("ready")
	for _, sig := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE, syscall.SIGUSR2, syscall.SIGABRT, syscall.SIGALRM,
		syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGIO, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCHLD,
	} {
		if err := syscall.Kill(guardianOf(p), sig); err != nil {
			t.Fatalf("%v: %v", sig, err)
		}
	}
	if err := p.signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	expectExit(t, p, Exit{Signal: syscall.SIGUSR2}) // and not ErrGuardian
	out.expectEnd()
}

func TestGuardianEndsWithTheCommand(t *testing.T) {
	p, out := start(t, Command{Args: shell("exit 0")})
	guardian := guardianOf(p)
	expectExit(t, p, Exit{})
	if err := syscall.Kill(guardian, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the guardian is still there: %v", err)
	}
	out.expectEnd()
}

// A pipeline ends with the command although the wrapper has not: no other process has
// the pipe.
func TestGuardianKeepsNoPipeOpen(t *testing.T) {
	p, out := start(t, Command{Args: shell("echo last")})
	out.expect("last")
	out.expectEnd() // before Wait: the guardian is still there
	expectExit(t, p, Exit{})
}

// A file of Keep is open until the guardian has ended, and the command does not get it.
func TestGuardianKeepsFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, out := start(t, Command{Args: shell(`echo ready; read line <"$1"`, fifo(t)), Keep: []*os.File{w}})
	out.expect("ready")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if controlled := conn.Control(func(fd uintptr) { _, err = syscall.Read(int(fd), make([]byte, 1)) }); controlled != nil || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("while the guardian runs, a read of its file says %v (%v), want that there may be more", err, controlled)
	}
	if err := syscall.Kill(guardianOf(p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("after its end: %q, %v", rest, err)
	}
	out.expectEnd()
	if _, err := p.Wait(); !errors.Is(err, ErrGuardian) {
		t.Error(err)
	}
}

// Guardian and starter refuse to be anything else than what Start starts.
func TestMisusedRoles(t *testing.T) {
	for _, args := range [][]string{
		{guardianName}, {guardianName, "x", "y"}, {starterName}, {starterName, "a", "b"}, {starterName, "3", "4", "/bin/true"},
	} {
		cmd := exec.Command(self)
		cmd.Args = args
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if got := status(t, cmd); got != misuse {
			t.Errorf("%q: status %d, want %d", args, got, misuse)
		}
	}
}

// A guardian that is dismissed ends while its caller does something else, and is no zombie when that has waited for it.
// One that had ended before says so.
func TestDismissedGuardian(t *testing.T) {
	p, out := start(t, Command{Args: shell("exit 4")})
	guardian := guardianOf(p)
	p.AwaitGuardian() // without Dismiss there is nothing to wait for
	if exit, err := p.Dismiss(); err != nil || exit != (Exit{Code: 4}) {
		t.Errorf("the command %v (%v)", exit, err)
	}
	p.AwaitGuardian()
	if err := syscall.Kill(guardian, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the guardian is still there: %v", err)
	}
	out.expectEnd()

	p, out = start(t, Command{Args: shell(stubborn+`wait`, fifo(t))})
	out.expect("stubborn")
	if err := syscall.Kill(guardianOf(p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	if exit, err := p.Dismiss(); !errors.Is(err, ErrGuardian) || exit.Signal != syscall.SIGKILL {
		t.Errorf("the command %v (%v)", exit, err)
	}
	p.AwaitGuardian()
}
