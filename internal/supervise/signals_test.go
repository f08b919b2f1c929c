//go:build unix

package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

var forwarded = map[string]syscall.Signal{
	"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
	"QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

func TestSignalsAreForwarded(t *testing.T) {
	for name, sig := range forwarded {
		t.Run(name, func(t *testing.T) {
			script := `trap 'echo ` + name + `; exit 5' ` + name + `; echo ready; while :; do read line; done <"$1"`
			cmd, out := spawn(t, role("wrapper", shell(script, fifo(t))...))
			out.expect("ready")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			out.expect(name)
			out.expectEnd()
			if got := status(t, cmd); got != 5 {
				t.Errorf("status %d, want 5", got)
			}
		})
	}
}

// The group, not the command alone, gets a signal; no process catches it here. The
// shells wait by themselves: one that is just starting a program blocks signals
// meanwhile, and the program would never hear of this one.
func TestSignalEndsTheGroup(t *testing.T) {
	cmd, out := spawn(t, role("wrapper", shell(`sh -c 'echo ready; read line' <"$1" & wait`, fifo(t))...))
	out.expect("ready")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	if got := status(t, cmd); got != 143 {
		t.Errorf("status %d, want 143", got)
	}
}

func TestSignalWhileWaiting(t *testing.T) {
	for name, sig := range forwarded {
		cmd, out := spawn(t, role("waiting"))
		out.expect("waiting")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if got, want := status(t, cmd), 128+int(sig); got != want {
			t.Errorf("%s: status %d, want %d", name, got, want)
		}
	}
}

// nohup stays nohup: an ignored HUP is neither taken nor forwarded, and the command
// ignores it too.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	script := shell(`trap '' HUP; exec "$@"`, role("wrapper", shell(`echo ready; kill -HUP $$; read line <"$1"; echo $line`, fifo(t))...)...)
	path := script[len(script)-1]
	cmd, out := spawn(t, script)
	out.expect("ready")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("alive\n"), 0); err != nil {
		t.Fatal(err)
	}
	out.expect("alive")
	if got := status(t, cmd); got != 0 {
		t.Errorf("status %d, want 0", got)
	}
}

// The reader of our diagnostics has gone: that is an error, not our end.
func TestUnreadDiagnostics(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := exec.Command(self, "role:unread")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := status(t, cmd); got != 9 {
		t.Errorf("status %d, want 9", got)
	}
}
