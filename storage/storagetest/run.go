package storagetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// patience is the time limit of one subtest, after which it counts as stuck.
const patience = 2 * time.Minute

// check is one subtest.
type check struct {
	name string
	need func(*storage.Features) string // why it does not apply, or ""; nil: it always applies
	run  func(*stage)
}

// Run checks that the store behind open's handles keeps the guarantees of package storage. See the package
// documentation for open's requirements.
func Run(t *testing.T, open func(testing.TB) storage.Store) {
	t.Helper()
	runAll(t, checks(), open)
}

// RunFaulty checks the guarantees that hold even in a failing store, as long as each error's kind is correct. See the
// package documentation for open's requirements.
func RunFaulty(t *testing.T, open func(testing.TB) storage.Store) {
	t.Helper()
	runAll(t, invariants(), open)
}

func runAll(t *testing.T, checks []check, open func(testing.TB) storage.Store) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { perform(t.Context(), t, c, open, patience) })
	}
}

// perform runs one check under a watchdog.
func perform(parent context.Context, tb testing.TB, c check, open func(testing.TB) storage.Store, patience time.Duration) {
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	s := &stage{TB: tb, ctx: ctx, opens: open}
	defer s.strike()
	s.Store = s.open()
	if c.need != nil {
		features := s.Features()
		if why := c.need(&features); why != "" {
			tb.Skip(why)
		}
	}
	c.run(s)
}

// checks lists every subtest. Each group is a file.
func checks() []check {
	return slices.Concat(
		rowChecks(), sliceChecks(), timestampChecks(), mutateChecks(), ttlChecks(), swapChecks(), clockChecks(),
		watchChecks(), scanChecks(), refuseChecks(), closeChecks(),
	)
}

// lacks returns the reason why a check is skipped.
func lacks(has bool, what string) string {
	if has {
		return ""
	}
	return "the store does not have " + what
}

func needSwap(f *storage.Features) string  { return lacks(f.Swap, "Swap") }
func needTTL(f *storage.Features) string   { return lacks(f.TTL, "TTL") }
func needClock(f *storage.Features) string { return lacks(f.Clock, "a clock") }
func needWatch(f *storage.Features) string { return lacks(f.Watch, "watches") }

func needWatchedSwap(f *storage.Features) string { return lacks(f.Watch && f.Swap, "watches and Swap") }
