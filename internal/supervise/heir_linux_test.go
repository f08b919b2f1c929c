package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// heirRoles are the processes of a command whose caller is killed.
var heirRoles = map[string]func(args []string) int{
	"role:testator": testator,
	"role:hung":     hung,
	"role:heir":     heir,
	"role:register": register,
	"role:root":     root,
}

// testator is a wrapper with an heir: arguments are the heir's register, its report, the deadline from now (0s for
// none), and the command.
func testator(args []string) int {
	c := Command{
		Args: args[3:], Adopt: true, Mark: "MARK=word", Env: append(os.Environ(), "MARK=a word of several"),
		Heir: &Heir{Args: []string{self, "role:heir", args[0], args[1]}, Env: []string{"HEIR=yes"}, Input: []byte("secret")},
	}
	deadline, err := time.ParseDuration(args[2])
	if err == nil && deadline > 0 {
		c.Deadline = clock.Real().Now() + deadline
	}
	if err == nil {
		var p *Process
		if p, err = Start(context.Background(), c); err == nil {
			_, err = p.Wait()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 70
}

// hung is a testator that does not get further when it has started the command, before its guardian knows.
func hung(args []string) int {
	forked = func() { select {} }
	return testator(args)
}

// heir reports whether a process of the command has the register, and what it was given.
func heir(args []string) int {
	said := "ended"
	if err := lockRegister(args[0]); err != nil {
		said = err.Error()
	}
	input, err := io.ReadAll(os.Stdin)
	if err == nil {
		said += fmt.Sprintf(" input %s env %s in %s\n", input, strings.Join(os.Environ(), " "), must(os.Getwd()))
		err = os.WriteFile(args[1], []byte(said), 0o666)
	}
	if err != nil {
		return 70
	}
	return 0
}

func must(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// lockRegister locks a file, for this process and those that it becomes or starts.
func lockRegister(path string) error {
	fd, err := syscall.Open(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	return nil
}

// register locks a file and becomes a command, whose processes all have the lock.
func register(args []string) int {
	if err := lockRegister(args[0]); err != nil {
		fmt.Println(err)
		return 70
	}
	fmt.Println(syscall.Exec("/bin/sh", args[1:], os.Environ()))
	return 70
}

// root is a program of root's that another user may start.
func root([]string) int {
	if err := syscall.Setuid(0); err != nil {
		fmt.Println(err)
		return 70
	}
	fmt.Println("root", os.Getpid())
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	<-told
	return 0
}

// stubbornFamily are processes that no TERM ends: in the command's group, and in a session of
// its own.
const stubbornFamily = `trap '' TERM HUP INT
	sh -c 'trap "" TERM; while :; do sleep 1000; done' &
	setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' &
	while :; do wait; done`

// copyProgram copies this test program.
func copyProgram(t *testing.T, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(to, content, 0o700)
	}
	if err == nil {
		err = os.Chmod(to, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// await waits for the end of a process that is not this one's child.
func await(t *testing.T, pid int) {
	t.Helper()
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, syscall.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, int(time.Minute/time.Millisecond))
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n != 1:
			t.Fatalf("process %d has not ended (%v)", pid, err)
		default:
			return
		}
	}
}

// The heir starts when the last process of the command has ended, regardless of the wrapper's end and its own.
func TestHeirComesAfterTheLastProcess(t *testing.T) {
	for name, end := range map[string]struct {
		role     string
		deadline string
		signal   syscall.Signal
	}{
		"killed wrapper":  {"testator", "0s", syscall.SIGKILL},
		"stopped wrapper": {"testator", "3s", syscall.SIGSTOP},
		// The guardian does not know the command's process.
		"wrapper killed at the start":  {"hung", "0s", syscall.SIGKILL},
		"wrapper stopped at the start": {"hung", "3s", syscall.SIGSTOP},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file, report := filepath.Join(folder, "register"), filepath.Join(folder, "report")
			args := role(end.role, append([]string{file, report, end.deadline}, append(role("register", file), shell(stubbornFamily)...)...)...)
			cmd, out := spawn(t, args)
			out.expect("ready")
			if err := lockRegister(file); err == nil {
				t.Fatal("no process of the command has the register")
			}
			guardian := childOf(t, cmd.Process.Pid, guardianName)
			if err := syscall.Kill(cmd.Process.Pid, end.signal); err != nil {
				t.Fatal(err)
			}
			await(t, guardian)
			if end.role == "hung" {
				expectStatus(t, cmd, 137) // or it could start the command later
			}
			said, err := os.ReadFile(report)
			if want := "ended input secret env HEIR=yes in /\n"; err != nil || string(said) != want {
				t.Errorf("the heir said %q (%v), want %q", said, err, want)
			}
		})
	}
}

// openFolder returns a folder in which every user may start and write files. That of other temporary files may be closed
// to others.
func openFolder(t *testing.T) string {
	parent := os.TempDir()
	for path := parent; path != "/"; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode()&0o001 == 0 {
			parent = "/tmp"
		}
	}
	folder, err := os.MkdirTemp(parent, "heir-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A process of another user that could not be killed may still use what the command protects: there is no heir.
func TestNoHeirOfSurvivors(t *testing.T) {
	const other = 65534 // a user
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that another user may start and not kill")
	}
	folder := openFolder(t)
	ours, program := filepath.Join(folder, "ours"), filepath.Join(folder, "program")
	copyProgram(t, ours, 0o755)
	copyProgram(t, program, 0o755|os.ModeSetuid)
	file, report := filepath.Join(folder, "register"), filepath.Join(folder, "report")
	out := newOutput(t)
	cmd := exec.Command(ours, "role:testator", file, report, "3s", "sh", "-c", `"$1" role:root & wait`, "sh", program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, out.w, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test has failed before its end
	out.opened()
	line, err := out.lines.ReadString('\n')
	survivor, found := strings.CutPrefix(strings.TrimSpace(line), "root ")
	if err != nil || !found {
		t.Skipf("a program of root's cannot be started here: %q (%v)", line, err)
	}
	guardian := childOf(t, cmd.Process.Pid, guardianName)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	await(t, guardian)
	pid, err := strconv.Atoi(survivor)
	if err != nil || syscall.Kill(pid, 0) != nil {
		t.Errorf("process %q has not survived (%v)", survivor, err)
	}
	if said, err := os.ReadFile(report); err == nil {
		t.Errorf("the heir was started: %s", said)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	out.expectEnd()
}
