package peer

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGone: a process that has ended has used nothing, which is distinguished from what cannot be read.
func TestGone(t *testing.T) {
	c := exec.Command(own(t), fakeWord, falling, filepath.Join(t.TempDir(), "process"))
	if err := c.Run(); err == nil {
		t.Fatal("it has not fallen")
	}
	if _, err := usageOf(c.Process.Pid, true); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("%v", err)
	}
}

// TestKeeperKilled: the server ends even with a keeper that is killed.
func TestKeeperKilled(t *testing.T) {
	plan, _ := fakePlan(t, ready)
	s, err := startServer(limited(t), config(t).Keeper, plan)
	if err != nil {
		t.Fatal(err)
	}
	descriptor, err := unix.PidfdOpen(s.process, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(descriptor)
	if err := s.keeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n, err := 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) { // a signal of the runtime
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLIN}}, 60_000)
	}
	if n != 1 || err != nil {
		t.Errorf("the server is left: %d, %v", n, err)
	}
	if err := s.stop(); err == nil {
		t.Error("the keeper's end is not reported")
	}
}
