//go:build unix

package supervise

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

func withDeadlines(t *testing.T) clock.Clock {
	t.Helper()
	if !clock.Shared {
		t.Skip("each process of this system has a clock of its own")
	}
	return clock.Real()
}

func expectDeadline(t *testing.T, p *Process) {
	t.Helper()
	if exit, err := p.Wait(); !errors.Is(err, ErrDeadline) || exit.Signal != syscall.SIGKILL {
		t.Errorf("the command %v (%v), want it killed at its deadline", exit, err)
	}
}

// The guardian alone kills the whole group, when the latest deadline has come.
func TestGuardianKillsAtTheDeadline(t *testing.T) {
	now := withDeadlines(t).Now
	p, out := start(t, Command{Args: shell(stubborn+`wait`, fifo(t)), Deadline: now() + time.Hour})
	out.expect("stubborn")
	for _, deadline := range []time.Duration{now() + 2*time.Hour, clock.Never, now() + time.Minute, now()} {
		if err := p.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	out.expectEnd()
	expectDeadline(t, p)
	if err := p.SetDeadline(clock.Never); err != nil {
		t.Errorf("a deadline after the end: %v", err)
	}
}

// A command whose deadline has come before it could run does not run to its end.
func TestCommandStartedAtItsDeadline(t *testing.T) {
	now := withDeadlines(t).Now
	p, out := start(t, Command{Args: shell(`read line <"$1"; echo "not reached"`, fifo(t)), Deadline: now()})
	out.expectEnd()
	expectDeadline(t, p)
}

// A guardian that is stopped goes on at once, or its deadline would not be kept.
func TestStoppedGuardianGoesOn(t *testing.T) {
	now := withDeadlines(t).Now
	p, out := start(t, Command{Args: shell(stubborn+`wait`, fifo(t))})
	out.expect("stubborn")
	if err := syscall.Kill(guardianOf(p), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.SetDeadline(now()); err != nil {
		t.Fatal(err)
	}
	out.expectEnd()
	expectDeadline(t, p)
}

// What was sent while the guardian did not run counts before its clock does.
func TestLatestDeadlineCounts(t *testing.T) {
	withDeadlines(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	caller := leash{w}
	for _, deadline := range []time.Duration{1, 2, clock.Never} {
		if err := caller.sendDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.FcntlInt(r.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	guardian, err := newCollar(fd)
	if err != nil {
		t.Fatal(err)
	}
	caller.close()
	if ended := guardian.wait(clock.Real()); !ended {
		t.Error("acted on a deadline that had been moved")
	}
}

// A guardian that does not read keeps its caller from nothing.
func TestUnreadDeadlines(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	caller := leash{w}
	defer caller.close()
	for i := range 100_000 { // far more than a pipe takes
		if err := caller.sendDeadline(time.Duration(i)); err != nil {
			t.Fatal(err)
		}
	}
}
