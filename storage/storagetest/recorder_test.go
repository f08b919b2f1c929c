package storagetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// recorder is a testing.TB that keeps a check's failures to itself, and ends the check's waits at
// the first of them.
type recorder struct {
	testing.TB
	stop context.CancelFunc

	mu     sync.Mutex
	failed bool
	lines  []string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Context() context.Context          { return context.Background() }
func (r *recorder) Log(args ...any)                   { r.add(fmt.Sprintln(args...), false) }
func (r *recorder) Logf(format string, args ...any)   { r.add(fmt.Sprintf(format, args...), false) }
func (r *recorder) Errorf(format string, args ...any) { r.add(fmt.Sprintf(format, args...), true) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.Log(args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

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
func attempt(t *testing.T, name string, open func(testing.TB) storage.Store, patience time.Duration) string {
	t.Helper()
	all := append(checks(), invariants()...)
	at := slices.IndexFunc(all, func(c check) bool { return c.name == name })
	if at < 0 {
		t.Fatalf("there is no check %q", name)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r := &recorder{TB: t, stop: stop}
	done := make(chan struct{})
	go func() { // so that Fatal ends it alone
		defer close(done)
		perform(ctx, r, all[at], open, patience)
	}()
	<-done
	if !r.Failed() {
		return ""
	}
	return strings.Join(r.lines, "\n")
}
