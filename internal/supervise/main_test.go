//go:build unix

package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// TestMain lets the test program play every process of a conversation: guardian
// and starter, as in any program, and the roles below.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		for _, roles := range []map[string]func([]string) int{roles, terminalRoles, heirRoles, earlyRoles} {
			if role, ok := roles[os.Args[1]]; ok {
				os.Exit(role(os.Args[2:]))
			}
		}
	}
	clustertest.DefaultSignals()
	// A program with the race detector sleeps a second before it exits. The tests
	// start hundreds.
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	goleak.VerifyTestMain(m)
}

var roles = map[string]func(args []string) int{
	"role:wrapper":    wrapper,
	"role:adopter":    adopter,
	"role:waiting":    waiting,
	"role:foreground": foreground,
	"role:continued":  resumed,
	"role:unread":     unread,
}

// wrapper does what `holdfast lock` does, without a lock. Its command has a starter.
func wrapper(args []string) int {
	signals := NewSignals()
	p, err := Start(context.Background(), Command{
		Args:   args,
		Notice: func(sentence string) { fmt.Fprintln(os.Stderr, "notice:", sentence) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		var refused *StartError
		if errors.As(err, &refused) {
			return refused.Status
		}
		return 70
	}
	signals.Forward(p)
	exit, err := p.Wait()
	if t := openTerminal(syscall.Getpgrp(), p.group.id); t != nil {
		fmt.Println("home", t.atHome())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	return exit.Status()
}

// adopter is a wrapper that waits for what the command leaves running.
func adopter(args []string) int {
	p, err := Start(context.Background(), Command{Args: args, Adopt: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	<-p.Done()
	fmt.Println("the command has ended")
	<-p.Left()
	fmt.Println("nothing is left")
	exit, err := p.Wait()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	return exit.Status()
}

// waiting is a wrapper that waits for its lock for ever.
func waiting([]string) int {
	signals := NewSignals()
	fmt.Println("waiting")
	return SignalStatus(<-signals.Arrived())
}

// foreground tells whether its group has the terminal, then echoes one line.
func foreground([]string) int {
	owner, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	fmt.Println("foreground", err == nil && owner == syscall.Getpgrp(), "leader", syscall.Getpgrp() == os.Getpid())
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("read", strings.TrimSpace(line))
	return 0
}

// resumed ends when it is continued.
func resumed([]string) int {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	fmt.Println("running")
	<-resumed
	fmt.Println("continued")
	return 0
}

// unread writes to standard error, which no process reads, and tells what came of it.
func unread([]string) int {
	NewSignals()
	_, err := os.Stderr.WriteString("does a process read this?\n")
	if errors.Is(err, syscall.EPIPE) {
		return 9
	}
	return 1
}

func role(name string, args ...string) []string {
	return append([]string{self, "role:" + name}, args...)
}

var self = func() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}()

// spawn starts a role as a process of its own, with a pipe on its standard output.
func spawn(t *testing.T, args []string) (*exec.Cmd, *output) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	out := newOutput(t)
	cmd.Stdout, cmd.Stderr = out.w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test has failed before its end
	out.opened()
	return cmd, out
}

// status waits for a role and returns its exit status as a shell would.
func status(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return exitOf(cmd.ProcessState.Sys().(syscall.WaitStatus)).Status()
}

// start starts a command in this process, with a pipe on its standard output.
func start(t *testing.T, c Command) (*Process, *output) {
	t.Helper()
	out := newOutput(t)
	c.Stdout = out.w
	if c.Stdin == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		c.Stdin = null
	}
	if c.Mark == "" && c.Env == nil { // without one it would need a starter
		c.Mark, c.Env = "MARK=ours", append(os.Environ(), "MARK=ours")
	}
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	out.opened()
	return p, out
}

func shell(script string, args ...string) []string {
	return append([]string{"sh", "-c", script, "sh"}, args...)
}

// output reads what processes write. Its end is the end of all of them.
type output struct {
	t     *testing.T
	w     *os.File
	lines *bufio.Reader
}

func newOutput(t *testing.T) *output {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return &output{t, w, bufio.NewReader(r)}
}

// opened gives up our own writing end, once the writers have theirs.
func (o *output) opened() { o.w.Close() }

func (o *output) expect(want string) {
	o.t.Helper()
	line, err := o.lines.ReadString('\n')
	if got := strings.TrimSuffix(line, "\n"); got != want {
		o.t.Fatalf("read %q (%v), want %q", got, err, want)
	}
}

// rest reads to the end, which comes when no process has the pipe any more.
func (o *output) rest() string {
	o.t.Helper()
	rest, err := io.ReadAll(o.lines)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(rest)
}

func (o *output) expectEnd() {
	o.t.Helper()
	if rest := o.rest(); rest != "" {
		o.t.Fatalf("read %q, want the end", rest)
	}
}

func expectExit(t *testing.T, p *Process, want Exit) {
	t.Helper()
	if exit, err := p.Wait(); exit != want || err != nil {
		t.Fatalf("the command %v (%v), want: %v", exit, err, want)
	}
}
