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
)

// TestBenchLeavesNothing: whatever ends a bench, its servers end with it, and its folder
// goes.
func TestBenchLeavesNothing(t *testing.T) {
	program := filepath.Join(build(t), name)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			folder := t.TempDir()
			bench := exec.Command(program, "bench", "--self", "--targets", "limit,central", "--workloads", "hot", "--rounds", "1000")
			bench.Env = append(os.Environ(), "TMPDIR="+folder)
			told, err := bench.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := bench.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(told)
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
		for _, word := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			line, err := os.ReadFile("/proc/" + word + "/cmdline")
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
