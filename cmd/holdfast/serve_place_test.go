package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// served is a `holdfast serve` that is ready.
type served struct {
	*exec.Cmd
	said   bytes.Buffer
	Listen string
}

// serve starts a member that remembers nothing, and waits until it is ready.
func serve(t *testing.T, folder string, flags ...string) *served {
	t.Helper()
	s := &served{Cmd: serving(folder, flags...)}
	s.begin(t)
	return s
}

// begin starts the member, and waits until it is ready.
func (s *served) begin(t *testing.T) {
	t.Helper()
	s.Stderr = &s.said
	out, err := s.StdoutPipe()
	must(t, err)
	must(t, s.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	if err != nil {
		t.Fatalf("holdfast serve said %q: %v\n%s", line, err, s.said.String())
	}
	go io.Copy(io.Discard, out)
}

func serving(folder string, flags ...string) *exec.Cmd {
	flags = append([]string{"serve", "--http", "", "--state", "none"}, flags...)
	return exec.Command(filepath.Join(folder, "holdfast"), flags...)
}

// refusedToServe wants a member that does not start, with exit code 78 and these words.
func refusedToServe(t *testing.T, folder, says string, flags ...string) {
	t.Helper()
	out, err := serving(folder, flags...).CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exitConfiguration || !strings.Contains(string(out), says) {
		t.Errorf("%q: %v, want exit code 78 and %q\n%s", flags, err, says, out)
	}
}

// TestInsecure: an address that other machines can reach needs TLS or a word of consent,
// which the log repeats.
func TestInsecure(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	folder := build(t)
	refusedToServe(t, folder, "accept the risk with --insecure", "--listen", "0.0.0.0:0")
	s := serve(t, folder, "--listen", "0.0.0.0:0", "--insecure")
	must(t, s.Process.Signal(os.Interrupt))
	must(t, s.Wait())
	if log := s.said.String(); !strings.Contains(log, "in plain text: every process that reaches this address") || !strings.Contains(log, "address=0.0.0.0:0") {
		t.Errorf("the log says\n%s", log)
	}
}

// TestSocket: a member on a socket alone serves this machine's clients; its place is taken
// by no other member while it lives, and by the next one when it was killed.
func TestSocket(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	folder := build(t)
	path := filepath.Join(t.TempDir(), "s")
	place := "unix://" + path
	for mode, flags := range map[os.FileMode][]string{0o600: nil, 0o660: {"--socket-mode", "0660"}} {
		s := serve(t, folder, append(flags, "--listen", place)...)
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != mode || s.Listen != place {
			t.Errorf("mode %v at %s, want %v at %s", info.Mode().Perm(), s.Listen, mode, place)
		}
		out, err := exec.Command(filepath.Join(folder, "holdfast"), "acquire", "--server", place, "--no-keep", "x").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "x ") {
			t.Errorf("acquire: %v\n%s", err, out)
		}
		refusedToServe(t, folder, "another process listens there already", "--listen", place)
		must(t, s.Process.Kill()) // the file stays, and the next one takes its place
		if err := s.Wait(); err == nil {
			t.Error("it has ended in good order")
		}
	}
	s := serve(t, folder, "--listen", "127.0.0.1:0,"+place)
	must(t, s.Process.Signal(os.Interrupt))
	must(t, s.Wait())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	refusedToServe(t, folder, "other members reach this one over the network", "--listen", place, "--join", "127.0.0.1:1")
}

// TestClockThatIsNotSet: without a folder the clock is all that keeps tokens from repeating.
func TestClockThatIsNotSet(t *testing.T) {
	unset := time.Unix(100, 0)
	err := checkClock(unset, "")
	if want := "the clock stands at 1970-01-01T00:01:40Z, before 2026-01-01T00:00:00Z: with state none "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	for _, fine := range []error{checkClock(unset, "folder"), checkClock(time.Unix(1767225600, 0), "")} {
		if fine != nil {
			t.Errorf("refused: %v", fine)
		}
	}
}
