package storagetest

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// mutants are faults that a driver may have, each with a check that must catch it and a phrase
// of the complaint. What hangs is caught by the watchdog, which is made short.
var mutants = []struct {
	fault, check, says string
	hangs              bool
}{
	{fault: "order of signed bytes", check: "columns_in_order", says: "column 0 is"},
	{fault: "order of lengths", check: "columns_in_order", says: "want"},
	{fault: "order of letters", check: "columns_in_order", says: "want"},
	{fault: "names are text", check: "any_bytes", says: "want"},
	{fault: "names are cut", check: "longest_names", says: "is added twice"},
	{fault: "values are cut", check: "any_bytes", says: "want"},
	{fault: "rows mix", check: "rows_do_not_mix", says: "want"},
	{fault: "stale reads", check: "visible_at_once", says: "want 1 columns"},
	{fault: "stale reads", check: "swap_is_seen", says: "want"},
	{fault: "deleted rows stay", check: "row_without_columns", says: "want 0 columns"},
	{fault: "end is included", check: "slice_bounds", says: "want"},
	{fault: "start is left out", check: "slice_bounds", says: "want"},
	{fault: "no limit", check: "slice_bounds", says: "at most"},
	{fault: "no limit", check: "serial_slice_bounds", says: "at most"},
	{fault: "a page is all", check: "slice_of_many", says: "1000 columns"},
	{fault: "timestamps ignored", check: "timestamps_decide", says: `want 1 columns "c"="ten"`},
	{fault: "timestamps ignored", check: "timestamps_in_any_order", says: "want"},
	{fault: "timestamps ignored", check: "timestamps_of_racers", says: "want"},
	{fault: "timestamps are floats", check: "timestamps_decide", says: "want"},
	{fault: "deletions under higher timestamps only", check: "deletion", says: "want"},
	{fault: "deletions for ever", check: "deletion", says: "nothing is added"},
	{fault: "half a mutate", check: "mutate_is_whole", says: "half a mutate is shown"},
	{fault: "half a mutate", check: "mutates_are_whole", says: "want both or neither"},
	{fault: "lost under load", check: "mutates_of_many", says: "want"},
	{fault: "lost under load", check: "use_by_many", says: "columns"},
	{fault: "lost under load", check: "close_with_requests", says: "was added, and is not there"},
	{fault: "lost under load", check: "what_was_said_of_writes_is_true", says: "are not there"},
	{fault: "never forgets", check: "ttl", says: "columns are not forgotten", hangs: true},
	{fault: "forgets at once", check: "ttl", says: "more than a second before their time"},
	{fault: "late additions", check: "deletion_and_late_addition", says: "want 0 columns"},
	{fault: "swap is a read and a write", check: "swap_has_one_winner", says: "have won"},
	{fault: "swap is a read and a write", check: "swap_counts", says: "there"},
	{fault: "swap is a read and a write", check: "swaps_count", says: "there"},
	{fault: "swap of an empty value", check: "swap_of_empty_values", says: "want"},
	{fault: "swap cuts values", check: "swap_of_long_values", says: "want"},
	{fault: "swap says no value", check: "swap", says: "want"},
	{fault: "swap takes the row", check: "swap_leaves_the_rest", says: "want"},
	{fault: "swap says no value", check: "swaps_at_a_time", says: "want"},
	{fault: "the clock stands", check: "clock", says: "Clock stands", hangs: true},
	{fault: "the clock goes back", check: "clock", says: "has said"},
	{fault: "the clock is of another zone", check: "clock", says: "was expected"},
	{fault: "deletions are not reported", check: "watch_of_deletions", says: "was not notified", hangs: true},
	{fault: "only its own are notified", check: "watch_of_deletions", says: "was not notified", hangs: true},
	{fault: "only its own are notified", check: "watch_of_swaps", says: "was not notified", hangs: true},
	{fault: "swaps are not reported", check: "watch_of_swaps", says: "was not notified", hangs: true},
	{fault: "one watcher is notified", check: "watch_of_many", says: "was not notified", hangs: true},
	{fault: "watches do not end", check: "watch_ends", says: "is still notified"},
	{fault: "watches outlive the handle", check: "close_with_watches", says: "that was closed is notified"},
	{fault: "calls at a time", check: "watch_one_call_at_a_time", says: "calls at a time"},
	{fault: "scans find all rows", check: "scan", says: "a scan of"},
	{fault: "scans find one kind of rows", check: "scan_of_swaps", says: "found 0 rows"},
	{fault: "scans cut rows", check: "scan_of_a_long_row", says: "came twice"},
	{fault: "scans go on", check: "scan_that_stops", says: "after 3 calls"},
	{fault: "bare errors", check: "not_allowed", says: "want one of the kind"},
	{fault: "errors of two kinds", check: "not_allowed", says: "want one of the kind"},
	{fault: "input unchecked", check: "not_allowed", says: "no error"},
	{fault: "done context ignored", check: "context_done_before", says: "no error"},
	{fault: "context without its error", check: "context_done_before", says: "in it"},
	{fault: "given up is refused", check: "context_ends_midway", says: "is there, and was refused"},
	{fault: "closed is forgotten", check: "close", says: "no error"},
	{fault: "features without a name", check: "features", says: "no Name"},
	{fault: "swap though it has none", check: "features", says: "no error"},
}

// TestMutants shows that the suite bites: each fault is caught by the check that is there for
// it, in its own words. Without a fault the same check passes.
func TestMutants(t *testing.T) {
	parallel.SkipBrief(t)
	for _, m := range mutants {
		t.Run(m.fault+"/"+m.check, func(t *testing.T) {
			t.Parallel()
			if got := complaint(t, "", m.check, time.Minute); got != "" {
				t.Fatalf("the check says %q of a store without a fault", got)
			}
			patience := time.Minute
			if m.hangs {
				patience = 4 * time.Second
			}
			// What only shows in a race may take more than one try.
			got := ""
			for try := 0; try < 400 && !strings.Contains(got, m.says); try++ {
				got = complaint(t, m.fault, m.check, patience)
			}
			if !strings.Contains(got, m.says) {
				t.Fatalf("the check says %q, want %q in it", got, m.says)
			}
		})
	}
}

// complaint performs one check on a store with a fault.
func complaint(t *testing.T, fault, check string, patience time.Duration) string {
	t.Helper()
	b := newBroken(fault)
	defer func() {
		for _, handle := range b.handles {
			handle.hub.Close() // also of those whose fault is that they go on
		}
	}()
	return attempt(t, check, b.open, patience)
}

// TestEveryCheckBites: there is a fault for each check.
func TestEveryCheckBites(t *testing.T) {
	bites := map[string]bool{}
	for _, m := range mutants {
		bites[m.check] = true
	}
	for _, c := range append(checks(), invariants()...) {
		if !bites[c.name] {
			t.Errorf("no mutant fails the check %q", c.name)
		}
	}
}

// open makes a handle on a store with the fault.
func (b *broken) open(testing.TB) storage.Store {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rows == nil {
		b.rows = memory.New(memory.Config{})
	}
	m := &mutant{Store: b.rows.Share(), broken: b, seen: map[string][]storage.Entry{}}
	b.handles = append(b.handles, m)
	return m
}
