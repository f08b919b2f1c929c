package supervise

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// earlyRoles are programs whose guardian begins before they do.
var earlyRoles = map[string]func(args []string) int{earlyCommand: takesEarly}

// takesEarly reports the early guardian's process, and does what its first argument says: to run a command with it, to
// end, or to wait.
func takesEarly(args []string) int {
	s := <-early
	if s == nil {
		fmt.Println("none")
		return 0
	}
	early = make(chan *sentry, 1)
	early <- s
	close(early)
	fmt.Println("guardian", s.process)
	switch args[0] {
	case "run":
		const mark = "MARK=early"
		p, err := Start(context.Background(), Command{
			Args: args[slices.Index(args, "--")+1:], Mark: mark, Env: append(os.Environ(), mark),
		})
		if err != nil {
			fmt.Println(err)
			return 70
		}
		exit, err := p.Wait()
		fmt.Println("the same", p.guardianWas(s), err)
		return exit.Status()
	case "end":
		Main(func() int { return 3 })
	}
	select {}
}

// guardianWas reports whether a sentry's process was the guardian of p.
func (p *Process) guardianWas(s *sentry) bool { return slices.Contains(p.group.except, s.process) }

// startEarlyRole starts a program with an early guardian, and returns the guardian's process.
func startEarlyRole(t *testing.T, args ...string) (guardian int, ended func(want int), out *output, kill func() error) {
	t.Helper()
	cmd, out := spawn(t, append([]string{self, earlyCommand}, args...))
	line, err := out.lines.ReadString('\n')
	word, found := strings.CutPrefix(strings.TrimSpace(line), "guardian ")
	guardian, wrong := strconv.Atoi(word)
	if err != nil || !found || wrong != nil {
		t.Fatalf("read %q (%v), want the guardian's process", line, err)
	}
	return guardian, func(want int) { t.Helper(); expectStatus(t, cmd, want) }, out, cmd.Process.Kill
}

// A program that will run a command has a guardian before its main function runs, and the command gets that one.
func TestEarlyGuardian(t *testing.T) {
	guardian, ended, out, _ := startEarlyRole(t, "run", "--", "sh", "-c", "echo ran; exit 5")
	out.expect("ran")
	out.expect("the same true <nil>")
	out.expectEnd()
	ended(5)
	await(t, guardian)
}

// An early guardian that gets no task ends with its program: before it when the program ends, and after it when it is
// killed.
func TestEarlyGuardianWithoutTask(t *testing.T) {
	guardian, ended, out, _ := startEarlyRole(t, "end", "--", "true")
	out.expectEnd()
	if _, err := os.Stat("/proc/" + strconv.Itoa(guardian)); err == nil {
		t.Errorf("the guardian, process %d, is still there", guardian)
	}
	ended(3)

	guardian, ended, out, kill := startEarlyRole(t, "wait", "--", "true")
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	ended(137)
	await(t, guardian)
}

// Without a command there is no guardian.
func TestNoEarlyGuardian(t *testing.T) {
	cmd, out := spawn(t, []string{self, earlyCommand, "--help"})
	out.expect("none")
	out.expectEnd()
	expectStatus(t, cmd, 0)
}

// Packages that are initialized late would make this one late: see begin.
func TestImportsNoLatePackage(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	imported := strings.Fields(string(list))
	if !slices.Contains(imported, "golang.org/x/sys/unix") {
		t.Fatalf("the list lacks a package that is imported: %v", imported)
	}
	for _, late := range []string{"os/exec", "path/filepath"} {
		if slices.Contains(imported, late) {
			t.Errorf("this package imports %s, by itself or through another one", late)
		}
	}
}

// A program with privileges of its own hides its environment, and a command without a mark cannot be found: those are
// the commands that wait for their guardian.
func TestNeedsStarter(t *testing.T) {
	folder := t.TempDir()
	plain, setuid := filepath.Join(folder, "plain"), filepath.Join(folder, "setuid")
	copyProgram(t, plain, 0o755)
	copyProgram(t, setuid, 0o755|os.ModeSetuid)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		path, mark string
		want       bool
	}{{plain, "MARK=ours", false}, {plain, "", true}, {setuid, "MARK=ours", true}} {
		command := Command{Mark: c.mark, Stdin: null, Stdout: null, Stderr: null}
		if got := command.needsStarter(c.path); got != c.want {
			t.Errorf("%s with mark %q: %v, want %v", filepath.Base(c.path), c.mark, got, c.want)
		}
	}
}
