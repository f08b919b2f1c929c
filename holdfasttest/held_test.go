package holdfasttest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// here returns the file and the line of its caller, moved by some lines.
func here(by int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+by)
}

// TestHeldLocksFailTheTest leaves locks behind, taken in all ways.
func TestHeldLocksFailTheTest(t *testing.T) {
	ctx := t.Context()
	r := &recorder{TB: t}
	locks := holdfasttest.New(r, holdfasttest.Spaces("billing"))
	alice := locks.Client("alice")
	var want []string
	left := func(text, line string) { want = append(want, "  "+text+", taken at "+line) }

	must(locks.Lock(ctx, "orders/42"))
	left(`"orders/42" by client "TestRecorded"`, here(-1))
	must(alice.Space("billing").TryLock(ctx, "orders/7", holdfast.Owner("job-7")))
	left(`"orders/7" in space "billing" by owner "job-7" by client "alice"`, here(-1))
	must(alice.LockAll(ctx, []string{"a"}))
	left(`"a" by client "alice"`, here(-1))
	holdfast.NewMutex(alice, "mutex").Lock()
	left(`"mutex" by client "alice"`, here(-1))
	waits := make(chan error, 1)
	queued := make(chan int, 1)
	go func() {
		_, err := alice.Lock(ctx, "orders/42", holdfast.OnQueued(func(n int) { queued <- n }))
		waits <- err
	}()
	<-queued

	unlocked, lost, expired := must(locks.Lock(ctx, "unlocked")), must(locks.Lock(ctx, "broken")), locks.Client("bob")
	must(expired.Lock(ctx, "expired"))
	if err := unlocked.Unlock(ctx); err != nil {
		t.Error(err)
	}
	locks.Break(lost.Name())
	expired.Expire()

	report := "holdfasttest: locks are still held at the end of the test; unlock them, or give New the option LeaveHeld():\n"
	if got := r.end(); got != report+strings.Join(want, "\n") {
		t.Errorf("the test fails with\n%s\nwant\n%s", got, report+strings.Join(want, "\n"))
	}
	if err := <-waits; !isClosed(err) {
		t.Errorf("a call that waited at the end of the test returns %v, want %v", err, holdfast.ErrClosed)
	}
	if _, err := locks.Client("late").Lock(ctx, "orders/42"); !isClosed(err) {
		t.Errorf("a call after the end of the test returns %v, want %v", err, holdfast.ErrClosed)
	}
}

// TestHeldWithinDo ends the test while a function of Do runs: the report names the caller of Do.
func TestHeldWithinDo(t *testing.T) {
	r := &recorder{TB: t}
	locks := holdfasttest.New(r)
	line := here(1)
	err := holdfast.Do(t.Context(), locks, "orders/42", func(context.Context, *holdfast.Lock) error {
		if got := r.end(); !strings.HasSuffix(got, "taken at "+line) {
			t.Errorf("the report says\n%s\nwant line %s", got, line)
		}
		return nil
	})
	if !isClosed(err) {
		t.Errorf("Do returns %v, want %v", err, holdfast.ErrClosed)
	}
}

func TestHeldLocksMayBeAllowed(t *testing.T) {
	r := &recorder{TB: t}
	lock := must(holdfasttest.New(r, holdfasttest.LeaveHeld()).Lock(t.Context(), "orders/42"))
	if got := r.end(); got != "" {
		t.Errorf("the test fails with %s", got)
	}
	if err := lock.Check(); !isClosed(err) {
		t.Errorf("after the test the lock says %v, want %v", err, holdfast.ErrClosed)
	}

	stopped := &recorder{TB: t, failed: true}
	must(holdfasttest.New(stopped).Lock(t.Context(), "orders/42"))
	if got := stopped.end(); got != "" || len(stopped.logs) != 1 || !strings.Contains(stopped.logs[0], "orders/42") {
		t.Errorf("a test that had failed fails with %q, and logs %q", got, stopped.logs)
	}
}

// TestReportIsBounded leaves more locks than a report lists.
func TestReportIsBounded(t *testing.T) {
	r := &recorder{TB: t}
	locks := holdfasttest.New(r)
	for i := range 25 {
		must(locks.Lock(t.Context(), fmt.Sprint(i)))
	}
	got := r.end()
	if lines := strings.Count(got, "taken at"); lines != 20 || !strings.HasSuffix(got, "\n  and 5 more") {
		t.Errorf("the report lists %d locks:\n%s", lines, got)
	}
}
