package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestBenchLeavesNothing: regardless of what ends a bench, its servers end with it, and
// its folder is removed.
func TestBenchLeavesNothing(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	program := filepath.Join(build(t), name)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			bench := exec.Command(program, "bench", "--self", "--targets", "limit,central", "--workloads", "hot", "--rounds", "1000")
			bench.Env = append(os.Environ(), "TMPDIR="+folder)
			stderr, err := bench.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := bench.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stderr)
			for lines.Scan() && !strings.Contains(lines.Text(), "round 1 of 1000: hot, 1 worker") {
			}
			children := openChildren(t, bench.Process.Pid)
			if err := bench.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
			}
			err = bench.Wait()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || statusOf(ended.ProcessState) != 128+int(sig) {
				t.Errorf("it ended with %v", err)
			}
			if len(children) != 5 { // echo, limit, three members
				t.Errorf("it had %d children", len(children))
			}
			for _, child := range children {
				awaitExit(t, child)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// TestSoakInterrupted: a soak that is ended reports what there is by then, and leaves nothing.
func TestSoakInterrupted(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	folder := t.TempDir()
	figures := filepath.Join(t.TempDir(), "soak.json")
	bench := exec.Command(filepath.Join(build(t), name), "bench", "--soak", "1h", "--every", "50ms", "--targets", "remote", "--json", figures)
	bench.Env = append(os.Environ(), "TMPDIR="+folder)
	var printed bytes.Buffer
	bench.Stdout = &printed
	stderr, err := bench.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && seen < 3 {
		if strings.Contains(lines.Text(), " of 1h0m0s: ") {
			seen++
		}
	}
	children := openChildren(t, bench.Process.Pid)
	if err := bench.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	err = bench.Wait()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || statusOf(ended.ProcessState) != 128+int(syscall.SIGINT) {
		t.Errorf("it ended with %v", err)
	}
	if len(children) != 2 || seen < 3 { // echo, the member
		t.Errorf("it had %d children, and reported %d samples", len(children), seen)
	}
	for _, child := range children {
		awaitExit(t, child)
	}
	output := strings.TrimSpace(printed.String())
	if last := output[strings.LastIndex(output, "\n")+1:]; !strings.HasPrefix(last, "bench: ok in=") {
		t.Errorf("the last line is %q", last)
	}
	written, err := os.ReadFile(figures)
	if err != nil || bytes.Count(written, []byte(`{"at_s":`)) < 3 || !bytes.HasSuffix(written, []byte("]}\n")) {
		t.Errorf("%v, %s", err, written)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// openChildren returns descriptors of the children of a process that are servers of bench.
func openChildren(t *testing.T, parent int) (descriptors []int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			line, err := os.ReadFile("/proc/" + field + "/cmdline")
			if err != nil || !bytes.Contains(line, []byte("\x00"+benchChild+"\x00")) {
				t.Errorf("a child is %q, %v", line, err)
				continue
			}
			descriptor, err := unix.PidfdOpen(id, 0)
			if err != nil {
				t.Fatal(err)
			}
			descriptors = append(descriptors, descriptor)
		}
	}
	return descriptors
}

// awaitExit waits until a process has ended.
func awaitExit(t *testing.T, descriptor int) {
	t.Helper()
	defer unix.Close(descriptor)
	for deadline := time.Now().Add(time.Minute); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n != 1:
			t.Errorf("a server is left: %v", err)
			return
		default:
			return
		}
	}
}
