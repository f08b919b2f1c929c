package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAfterTheDemo runs the commands that the demo gives to try next, as they are printed.
func TestAfterTheDemo(t *testing.T) {
	t.Parallel()
	program := build(t)
	for _, next := range afterDemo {
		folder := t.TempDir()
		line := strings.ReplaceAll(next.command, "/tmp/locks", filepath.Join(folder, "locks"))
		command := exec.Command("sh", "-c", "exec "+line)
		command.Dir = folder
		command.Env = append(os.Environ(), "PATH="+program+":"+os.Getenv("PATH"), "HOME="+folder,
			"HOLDFAST_LISTEN=127.0.0.1:0", "HOLDFAST_HTTP=127.0.0.1:0", "XDG_STATE_HOME="+folder)
		out, err := command.StdoutPipe()
		must(t, err)
		must(t, command.Start())
		lines := bufio.NewScanner(out)
		first := lines.Scan()
		if strings.HasSuffix(next.command, " serve") { // it would run for ever
			must(t, command.Process.Signal(syscall.SIGTERM))
		}
		last := lines.Text()
		for lines.Scan() {
			last = lines.Text()
		}
		err = command.Wait()
		code := command.ProcessState.ExitCode()
		switch {
		case !first:
			t.Errorf("%s: it prints nothing (%v)", line, err)
		case strings.Contains(line, " sim ") && code == exitViolation && strings.HasPrefix(last, "sim: VIOLATION "):
		case code != 0:
			t.Errorf("%s: exit code %d; the last line is %q", line, code, last)
		}
	}
}
