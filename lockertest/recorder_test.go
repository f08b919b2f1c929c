package lockertest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// recorder is a testing.TB that keeps a check's failures to itself.
type recorder struct {
	testing.TB
	name string
	stop context.CancelFunc // ends the check at its first failure, so that it goes no further

	mu       sync.Mutex
	failed   bool
	lines    []string
	cleanups []func()
}

func (r *recorder) Name() string { return r.name }
func (r *recorder) Helper()      {}

func (r *recorder) Log(args ...any)                 { r.add(fmt.Sprintln(args...), false) }
func (r *recorder) Logf(format string, args ...any) { r.add(fmt.Sprintf(format, args...), false) }

func (r *recorder) Error(args ...any)                 { r.add(fmt.Sprintln(args...), true) }
func (r *recorder) Errorf(format string, args ...any) { r.add(fmt.Sprintf(format, args...), true) }
func (r *recorder) Fail()                             { r.add("failed", true) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	r.FailNow()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) Context() context.Context { return context.Background() }

func (r *recorder) add(line string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.lines = append(r.lines, line)
	if failed {
		r.stop()
	}
}

// attempt performs one check and returns what it complained about; "" if it passed.
func attempt(t *testing.T, checkName string, open func(testing.TB) holdfast.Locker, caps Caps) string {
	t.Helper()
	all := checks()
	at := slices.IndexFunc(all, func(c check) bool { return c.name == checkName })
	if at < 0 {
		t.Fatalf("there is no check %q", checkName)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r := &recorder{TB: t, name: "attempt/" + checkName, stop: stop}
	done := make(chan struct{})
	go func() {
		defer close(done)
		perform(ctx, r, all[at], open, caps)
	}()
	<-done
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	if !r.Failed() {
		return ""
	}
	return strings.Join(r.lines, "\n")
}

// TestRecorder has the recorder tell a failure from a success.
func TestRecorder(t *testing.T) {
	a := newAuthority("")
	if got := attempt(t, "try_lock", a.open, a.caps()); got != "" {
		t.Errorf("a correct Locker: %s", got)
	}
	nothing := func(tb testing.TB) holdfast.Locker { tb.Fatal("cannot be opened"); return nil }
	caps := Caps{Patience: time.Second}
	if got := attempt(t, "try_lock", nothing, caps); !strings.Contains(got, "cannot be opened") {
		t.Errorf("a Locker that cannot be opened: %q", got)
	}
}
