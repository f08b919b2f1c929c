//go:build unix

package supervise

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

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

// A command whose deadline has come before it could run does not run, with and without a starter.
func TestNoCommandAtItsDeadline(t *testing.T) {
	now := withDeadlines(t).Now
	for _, mark := range []string{"", "MARK=ours"} {
		out := newOutput(t)
		c := Command{Args: shell(`echo "not reached"`), Stdout: out.w, Mark: mark, Deadline: now() + launching/2}
		if _, err := Start(t.Context(), c); !errors.Is(err, ErrDeadline) {
			t.Errorf("with mark %q: %v, want that the deadline was too near", mark, err)
		}
		out.opened()
		out.expectEnd()
	}
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
	ends, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	caller := leash{os.NewFile(uintptr(ends[0]), "leash")}
	for _, deadline := range []time.Duration{1, 2, clock.Never} {
		if err := caller.sendDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	guardian, err := newCollar(ends[1])
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
	ends, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(ends[1])
	caller := leash{os.NewFile(uintptr(ends[0]), "leash")}
	defer caller.close()
	for i := range 100_000 { // far more than a socket takes
		if err := caller.sendDeadline(time.Duration(i)); err != nil {
			t.Fatal(err)
		}
	}
}
