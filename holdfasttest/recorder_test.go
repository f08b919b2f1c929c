package holdfasttest_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB that keeps failures to itself, and ends when the test says so.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	errors   []string
	logs     []string
	cleanups []func()
}

func (r *recorder) Name() string                      { return "TestRecorded" }
func (r *recorder) Helper()                           {}
func (r *recorder) Log(args ...any)                   { r.logs = append(r.logs, fmt.Sprint(args...)) }
func (r *recorder) Error(args ...any)                 { r.fail(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Failed() bool                      { return r.failed }
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.errors = append(r.errors, text)
}

// end runs the cleanups, as the end of a test does, and returns the failures.
func (r *recorder) end() string {
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	r.cleanups = nil
	return strings.Join(r.errors, "\n")
}
