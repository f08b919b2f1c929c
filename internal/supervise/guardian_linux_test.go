package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// childOf returns the child of a process that was started under a name.
func childOf(t *testing.T, parent int, name string) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for _, child := range strings.Fields(string(children)) {
			line, err := os.ReadFile("/proc/" + child + "/cmdline")
			if err == nil && strings.HasPrefix(string(line), name+"\x00") {
				pid, err := strconv.Atoi(child)
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
	}
	t.Fatalf("process %d has no child %s", parent, name)
	return 0
}

// The guardian cannot act while it is stopped: the kernel ends the command itself.
// Once it is continued, the guardian ends the rest.
func TestKernelEndsTheCommandWithoutAGuardian(t *testing.T) {
	rest := newOutput(t)
	out := newOutput(t)
	// The grandchild has the one pipe, the command the other.
	script := `cat <"$1" >&3 3>&- & exec 3>&-; echo ready; read line <"$1"`
	cmd := exec.Command(self, role("wrapper", shell(script, fifo(t))...)[1:]...)
	cmd.Stdout, cmd.ExtraFiles = out.w, []*os.File{rest.w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test has failed before its end
	out.opened()
	rest.opened()
	out.expect("ready")
	guardian := childOf(t, cmd.Process.Pid, guardianName)
	// The wrapper would let its guardian go on.
	for _, id := range []int{cmd.Process.Pid, guardian} {
		if err := syscall.Kill(id, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	if err := syscall.Kill(guardian, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	rest.expectEnd()
	expectStatus(t, cmd, 137)
}

// What the command has left running is guarded, too: it ends with its guardian, and the wrapper
// hears of both ends although the guardian's came first.
func TestKilledGuardianEndsWhatTheCommandHasLeft(t *testing.T) {
	left := newOutput(t)
	cmd := exec.Command(self, role("adopter", shell(`(trap '' TERM; echo left >&3; exec cat <"$1" >&3) &`, fifo(t))...)[1:]...)
	out := newOutput(t)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out.w, out.w, []*os.File{left.w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test has failed before its end
	out.opened()
	left.opened()
	out.expect("the command has ended")
	left.expect("left")
	if err := syscall.Kill(childOf(t, cmd.Process.Pid, guardianName), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	left.expectEnd()
	out.expect("nothing is left")
	out.expect(ErrGuardian.Error())
	expectStatus(t, cmd, 70)
}
