package storagetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// patience is how long one subtest may take before it counts as stuck.
const patience = 2 * time.Minute

// check is one subtest.
type check struct {
	name string
	need func(*storage.Features) string // why it does not apply, or ""; nil: it always does
	run  func(*stage)
}

// Run checks that the store on which open makes handles does what package storage promises. See
// the package's documentation for what open must do.
func Run(t *testing.T, open func(testing.TB) storage.Store) {
	t.Helper()
	runAll(t, checks(), open)
}

// RunFaulty checks what holds also in a store that fails, as long as each error is of the kind
// that says what may have happened. See the package's documentation for what open must do.
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
		watchChecks(), refuseChecks(), closeChecks(),
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
