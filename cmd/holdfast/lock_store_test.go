package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/test/realstore"
)

// lockRun is a `holdfast lock` that runs.
type lockRun struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

// startLock runs `holdfast lock` with the binary in folder.
func startLock(t *testing.T, folder string, environ []string, args ...string) *lockRun {
	t.Helper()
	r := &lockRun{Cmd: exec.Command(filepath.Join(folder, name), append([]string{"lock"}, args...)...)}
	r.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), environ...)
	r.Cmd.Stderr = &r.stderr
	in, err := r.StdinPipe()
	must(t, err)
	out, err := r.StdoutPipe()
	must(t, err)
	r.in, r.out = in, bufio.NewReader(out)
	must(t, r.Start())
	t.Cleanup(func() {
		if r.ProcessState == nil {
			_ = r.Process.Kill() // the test has failed already
			_ = r.Wait()
		}
	})
	return r
}

// line reads the command's next line.
func (r *lockRun) line(t *testing.T) string {
	t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v; %s", r.Args, err, r.stderr.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// until reads lines until one has what is wanted.
func (r *lockRun) until(t *testing.T, want string) {
	t.Helper()
	for !strings.Contains(r.line(t), want) {
	}
}

// saidOnce returns what the command says, when there was an event as well. Events are written while the command starts,
// so either may come first where they share a descriptor.
func (r *lockRun) saidOnce(t *testing.T, event string) (said string) {
	t.Helper()
	for happened := false; said == "" || !happened; {
		switch line := r.line(t); {
		case strings.Contains(line, event):
			happened = true
		case !strings.HasPrefix(line, "{"):
			said = line
		}
	}
	return said
}

// ends closes the command's input, waits for the end, and compares the exit code.
func (r *lockRun) ends(t *testing.T, want int) {
	t.Helper()
	if err := r.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	err := r.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if got := statusOf(r.ProcessState); got != want {
		t.Fatalf("%v: exit code %d, want %d; %s", r.Args, got, want, r.stderr.String())
	}
}

// untilEOF is a command that says its token, and goes on until its input ends.
var untilEOF = []string{"--", "sh", "-c", "echo $HOLDFAST_LOCK_TOKEN ${HOLDFAST_STORE-unset}; cat >/dev/null"}

// TestLockStoreInTurns: processes that share nothing but a Redis have a name in turns, by claims and by
// conditional writes. Its password is the command's only if it was before.
func TestLockStoreInTurns(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	server := realstore.StartRedis(t, "--requirepass", "hush-hush")
	url := strings.Replace(server.URL(), "redis://", "redis://default:hush-hush@", 1)
	folder := build(t)
	for i, options := range []string{"wait=100ms,expiry=4s", "cas,expiry=4s"} {
		base := []string{"--store", url + "/" + strconv.Itoa(i), "--store-options", options}
		first := startLock(t, folder, nil, append(append(base, "n"), untilEOF...)...)
		before, store, _ := strings.Cut(first.line(t), " ")
		if store != "unset" {
			t.Errorf("the command has %s", store)
		}
		busy := startLock(t, folder, nil, append(append(base, "--try", "n"), untilEOF...)...)
		busy.ends(t, busyCode)
		if text := busy.stderr.String(); !strings.Contains(text, "held by") || strings.Contains(text, "hush") {
			t.Errorf("%s: --try says %s", options, text)
		}
		startLock(t, folder, nil, append(append(base, "--wait", "500ms", "n"), untilEOF...)...).ends(t, busyCode)
		second := startLock(t, folder, []string{"HOLDFAST_STORE=" + url + "/" + strconv.Itoa(i), "HOLDFAST_STORE_OPTIONS=" + options},
			append([]string{"--wait", "1m", "--status-fd", "1", "n"}, untilEOF...)...)
		second.until(t, `"event":"waiting"`)
		first.ends(t, 0)
		after, store, _ := strings.Cut(second.saidOnce(t, `"event":"acquired"`), " ")
		if store != url+"/"+strconv.Itoa(i) {
			t.Errorf("the command has not the variable of its parent: %s", store)
		}
		one, err := strconv.ParseUint(before, 10, 64)
		must(t, err)
		two, err := strconv.ParseUint(after, 10, 64)
		must(t, err)
		if two <= one {
			t.Errorf("%s: token %d after %d", options, two, one)
		}
		must(t, second.in.Close())
		second.until(t, `"event":"released"`)
		second.ends(t, 0)
	}
}

// TestLockStoreLost: a process that does not reach its store any more has ended its command, deaf as that
// is, before another gets the lock.
func TestLockStoreLost(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	server := realstore.StartRedis(t)
	folder := build(t)
	for prefix, options := range map[string]string{"a": "wait=100ms,expiry=4s", "b": "wait=500ms,expiry=6s", "c": "cas,expiry=4s"} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			proxy := realstore.NewProxy(t, server.Address())
			cut := startLock(t, folder, nil, "--store", server.URLAt(proxy.Address())+"?prefix="+prefix, "--store-options", options, "n",
				"--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.01; done")
			pid, err := strconv.Atoi(cut.line(t))
			must(t, err)
			next := startLock(t, folder, nil, append([]string{"--store", server.URL() + "?prefix=" + prefix, "--store-options", options, "--wait", "1m", "n"}, untilEOF...)...)
			proxy.Blackhole(true)
			next.line(t)
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the command of the former holder is still there: %v", err)
			}
			next.ends(t, 0)
			cut.ends(t, 79)
			if text := cut.stderr.String(); !strings.Contains(text, "the command gets TERM, and KILL in") {
				t.Errorf("it says %s", text)
			}
		})
	}
}

// TestStoreThatIsSilent: a command waits for a store that accepts connections but sends nothing only as long as --timeout.
func TestStoreThatIsSilent(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	folder := build(t)
	for scheme, password := range map[string]string{"redis": ":hush-hush@", "etcd": "", "postgres": "u:hush-hush@", "cassandra": ""} {
		path := map[string]string{"postgres": "/db", "cassandra": "/space"}[scheme]
		began := time.Now()
		r := startLock(t, folder, nil, "--timeout", "500ms", "--store", scheme+"://"+password+silent.Addr().String()+path, "n", "--", "touch", filepath.Join(folder, "ran"))
		r.ends(t, exitUnavailable)
		text := r.stderr.String()
		if took := time.Since(began); took > 4*time.Second || !strings.Contains(text, ": unavailable: ") || strings.Contains(text, "hush") {
			t.Errorf("%s: after %v: %s", scheme, took, text)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command was run: %v", err)
	}
}

// TestStoreWithAndWithoutMembers: the members of a cluster and a process that knows none of them have the
// locks of one store in turns; and both members tell of what is held through either.
func TestStoreWithAndWithoutMembers(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	url := realstore.Redis(t)
	folder := build(t)
	addresses, err := clustertest.FreeAddresses(2)
	must(t, err)
	var said []*bufio.Reader
	for _, address := range addresses {
		serve := exec.Command(filepath.Join(folder, name), "serve", "--listen", address, "--http", "", "--state", "none",
			"--join", strings.Join(addresses, ","), "--expect", "2", "--space", "app=claim,store="+url+",expiry=10s")
		serve.Stderr = os.Stderr
		out, err := serve.StdoutPipe()
		must(t, err)
		must(t, serve.Start())
		said = append(said, bufio.NewReader(out))
		t.Cleanup(func() {
			must(t, serve.Process.Signal(os.Interrupt))
			if err := serve.Wait(); err != nil {
				t.Errorf("holdfast serve: %v", err)
			}
		})
	}
	for _, ready := range said {
		if line, err := ready.ReadString('\n'); err != nil || !strings.Contains(line, `"event":"ready"`) {
			t.Fatalf("holdfast serve says %q, %v", line, err)
		}
	}
	at := func(member int) []string {
		return []string{"--server", addresses[member], "--space", "app", "--timeout", "30s"}
	}
	without := []string{"--store", url, "--space", "app", "--store-options", "expiry=10s"}
	for _, turn := range []struct {
		holder []string
		others [][]string
	}{
		{append(at(0), "--ttl", "3s", "--wait", "1m"), [][]string{at(1), without}},
		{append(without, "--wait", "1m"), [][]string{at(0), at(1)}},
	} {
		held := startLock(t, folder, nil, append(append(turn.holder, "n"), untilEOF...)...)
		held.line(t)
		for _, other := range turn.others {
			r := startLock(t, folder, nil, append(append(other, "--try", "n"), untilEOF...)...)
			r.ends(t, busyCode)
			if text := r.stderr.String(); !strings.Contains(text, "held by") {
				t.Errorf("%v: %s", other, text)
			}
		}
		if turn.holder[0] == "--server" {
			for _, address := range addresses {
				shown, err := exec.Command(filepath.Join(folder, name), "show", "--server", address, "--space", "app", "--json", "n").Output()
				if err != nil || !strings.Contains(string(shown), `"holders":[{`) {
					t.Errorf("show at %s: %v: %s", address, err, shown)
				}
			}
		}
		held.ends(t, 0)
	}
}
