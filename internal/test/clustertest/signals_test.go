package clustertest

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// defaulted makes the test program start a shell, and exit with its code.
const defaulted = "defaulted"

// exitTrapped is the shell's exit code if its trap ran, exitDeaf if it did not.
const exitTrapped, exitDeaf = "7", "3"

// startShell starts a shell that sends itself a signal that it traps. POSIX shells cannot trap signals that were
// ignored at their start.
func startShell(signal string) int {
	DefaultSignals()
	script := `trap 'exit ` + exitTrapped + `' ` + signal + `; kill -` + signal + ` $$; exit ` + exitDeaf
	err := exec.Command("sh", "-c", script).Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return 1
}

// TestDefaultSignals runs this program like nohup and a shell's background job.
func TestDefaultSignals(t *testing.T) {
	for _, signal := range []string{"HUP", "INT"} {
		script := `trap '' HUP INT; "$0" ` + defaulted + ` ` + signal + `; echo $?`
		out, err := exec.Command("sh", "-c", script, os.Args[0]).Output()
		if err != nil || string(out) != exitTrapped+"\n" {
			t.Errorf("below a shell that ignores %s a child's trap exited with %q, %v; want %s (%s: it ignores it, too)", signal, out, err, exitTrapped, exitDeaf)
		}
	}
}
