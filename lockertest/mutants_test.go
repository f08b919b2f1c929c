package lockertest

import (
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"strings"
	"testing"
	"time"
)

// mutants are faults of the reference, each with the checks that must catch it and a
// phrase of the complaint. What hangs is caught by the watchdog, which is made short,
// and longer where it ended something else first: its phrase says which wait it was.
var mutants = []struct {
	fault string
	check string
	says  string
	hangs bool
}{
	// P1
	{fault: "no exclusion", check: "exclusion", says: "are inside an exclusive lock"},
	{fault: "no exclusion", check: "exclusion_of_modes", says: "are inside together"},
	{fault: "no exclusion", check: "modes_fit", says: "is granted together with exclusive"},
	{fault: "no exclusion", check: "try_lock", says: "want held"},
	{fault: "no exclusion", check: "lock_all_without_deadlock", says: "are inside a name of LockAll"},
	{fault: "no exclusion", check: "unlock_twice", says: "while another holds it"},
	{fault: "capacity ignored", check: "capacity_conflict", says: "want conflict"},
	{fault: "deadlocks ignored", check: "deadlock_not_offered", says: "want not offered by this protocol"},
	// P2
	{fault: "one token for all", check: "tokens_rise", says: "token 7"},
	{fault: "one token for all", check: "exclusion", says: "was granted after token 7"},
	{fault: "one token for all", check: "tokens_rise_in_all_modes", says: "was granted after token 7"},
	{fault: "tokens begin anew", check: "tokens_rise_across_free_periods", says: "was granted after token"},
	// P3
	{fault: "hold limit ignored", check: "hold_limit_ends_the_lock", says: "has not ended the lock", hangs: true},
	{fault: "hold limit ignored", check: "hold_limit_passes_the_lock_on", says: "deadline exceeded", hangs: true},
	{fault: "hold limit passes on early", check: "hold_limit_passes_the_lock_on", says: "while the Context of its holder was not done", hangs: true},
	{fault: "extend ignored", check: "extend", says: "whose hold limit was extended"},
	{fault: "loss is not reported", check: "killed_session_is_reported", says: "while the Context of its holder was not done", hangs: true},
	{fault: "break is not reported", check: "broken_lock_is_reported", says: "while the Context of its holder was not done", hangs: true},
	{fault: "break is not reported", check: "broken_holders_in_all_modes", says: "was not", hangs: true},
	{fault: "break says another reason", check: "broken_lock_is_reported", says: `says "duplicate"`},
	{fault: "the dead wait on", check: "killed_session_leaves_the_queue", says: "deadline exceeded", hangs: true},
	// P4
	{fault: "cancel wakes no waiter", check: "cancel_wakes_those_behind", says: "should be granted", hangs: true},
	{fault: "cancel wakes no waiter", check: "wait_limit_wakes_those_behind", says: "should be granted", hangs: true},
	{fault: "one wakeup a release", check: "release_grants_all_that_fit", says: "should be granted", hangs: true},
	{fault: "release wakes no waiter", check: "no_lost_wakeup", says: "should be granted", hangs: true},
	// P5
	{fault: "last come first served", check: "fifo", says: "granted in the order"},
	{fault: "overtaking", check: "waiting_exclusive_blocks_later_shared", says: "should have been queued"},
	{fault: "overtaking", check: "large_slots_wish_is_not_starved", says: "should have been queued"},
	// P6
	{fault: "grant stranded", check: "cancel_at_the_moment_of_grant", says: "deadline exceeded", hangs: true},
	{fault: "grant stranded", check: "wait_limit_at_the_moment_of_grant", says: "deadline exceeded", hangs: true},
	{fault: "a try has no answer", check: "try_after_unlock", says: "tries ended without an answer"},
	{fault: "limit tells nothing", check: "wait_limit_at_the_moment_of_grant", says: "without a word of who decides"},
	// P7
	{fault: "any token frees", check: "release_by_a_stranger", says: "want not held"},
	{fault: "a stranger's token frees", check: "release_by_a_stranger", says: "want not held"},
	{fault: "token ignored", check: "release_of_a_passed_token", says: "want not held"},
	{fault: "any token frees", check: "release_twice", says: "want not held"},
	{fault: "second release succeeds", check: "release_twice", says: "got error <nil>, want not held"},
	{fault: "unlock does not wait", check: "try_after_unlock", says: "right after an unlock: try lock"},
	{fault: "queued release is forgotten", check: "unlock_async", says: "deadline exceeded", hangs: true},
	{fault: "unlock gives up with its context", check: "unlock_without_time", says: "deadline exceeded", hangs: true},
	// P8
	{fault: "limit without a name", check: "limit_of_waiters", says: "does not name the limit"},
	{fault: "no limit of locks", check: "limit_of_locks", says: "want limit reached"},
	// reentry
	{fault: "reentry has a new token", check: "reentry", says: "want one"},
	{fault: "one unlock frees all", check: "reentry", says: "not held"},
	{fault: "reentry waits", check: "reentry_passes_the_queue", says: "deadline exceeded", hangs: true},
	{fault: "reentry in another mode", check: "reentry_in_modes", says: "want conflict"},
	{fault: "owners of all sessions are one", check: "owner_is_of_its_session", says: "while another holds it"},
	// the calls
	{fault: "try waits", check: "try_lock", says: "want held", hangs: true},
	{fault: "wait limit ignored", check: "wait_limit", says: "deadline exceeded", hangs: true},
	{fault: "names unsorted", check: "lock_all_asks_in_order", says: "deadline exceeded", hangs: true},
	{fault: "names unsorted", check: "lock_all_without_deadlock", says: "deadline exceeded", hangs: true},
	{fault: "some rather than none", check: "lock_all_or_none", says: "should be free", hangs: true},
	{fault: "locks in sorted order", check: "lock_all", says: "lock 0 is of"},
	{fault: "close leaves waiters", check: "close_with_waiters", says: "want closed", hangs: true},
	{fault: "close leaves locks", check: "close_with_holders", says: "is not done after Close", hangs: true},
	{fault: "closed is forgotten", check: "close_then_call", says: "want closed"},
	{fault: "second close fails", check: "close_then_call", says: "Close: closed"},
	{fault: "close of a view", check: "close_of_a_space_closes_nothing", says: "after the Locker of its space was closed"},
	{fault: "goroutine left", check: "close_leaves_no_goroutine", says: "leftBehind", hangs: true},
	{fault: "done context ignored", check: "context_done_before", says: "want context canceled"},
	{fault: "lock ends with the context", check: "context_ends_the_wait_only", says: "ended with the context that it was asked with"},
	{fault: "deadline tells nothing", check: "context_deadline_tells_why", says: "does not say that the name is held", hangs: true},
	{fault: "values dropped", check: "context_values", says: "want that of the caller's context"},
	{fault: "input unchecked", check: "bad_names", says: "want bad name"},
	{fault: "input unchecked", check: "bad_options", says: "want conflict"},
	{fault: "class ignored", check: "require_class", says: "want safety class not available"},
	{fault: "any space exists", check: "unknown_space", says: "want unknown space"},
	{fault: "spaces are one", check: "spaces_are_independent", says: "held"},
	{fault: "no exclusion", check: "do_holds_the_lock", says: "while another holds it"},
	{fault: "hold limit ignored", check: "do_reports_a_hold_limit", says: "want lost", hangs: true},
	{fault: "break is not reported", check: "do_reports_a_loss", says: "while the context of the function was not done"},
	{fault: "break says another reason", check: "do_reports_a_loss", says: `says "duplicate"`},
	{fault: "close leaves locks", check: "do_reports_a_close", says: "want closed", hangs: true},
	{fault: "lock ends with the context", check: "do_ends_with_its_caller", says: "ended with the context of the caller"},
	// P11
	{fault: "value of the request ignored", check: "values_of_requests", says: "is shown with the values"},
	{fault: "value not replaced", check: "values_are_replaced", says: "is shown with the values"},
	{fault: "value outlives its lock", check: "values_end_with_their_locks", says: "is shown with the values"},
	{fault: "value is set later", check: "values_in_order", says: "after SetValue had returned for"},
	{fault: "value of all holders", check: "values_of_several_holders", says: "is shown with the values"},
	{fault: "value of one lock of its owner", check: "values_and_reentry", says: "is shown with the values"},
	{fault: "reentry sets the value", check: "values_and_reentry", says: "is shown with the values"},
	{fault: "replaced value has no answer", check: "values_at_once", says: "deadline exceeded", hangs: true},
	{fault: "break is not reported", check: "values_of_broken_locks", says: "want lost"},
	{fault: "hold limit ignored", check: "values_after_a_hold_limit", says: "has not ended", hangs: true},
	{fault: "close leaves locks", check: "values_of_ended_locks", says: "deadline exceeded", hangs: true},
	{fault: "input unchecked", check: "values_out_of_bounds", says: "want bad name"},
	// observers
	{fault: "no current state", check: "observe_current_state", says: "no state of", hangs: true},
	{fault: "observer sees no values", check: "observe_grants_values_and_releases", says: "is observed as"},
	{fault: "always missed", check: "observe_grants_values_and_releases", says: "were missed, 4 times"},
	{fault: "states come twice", check: "observe_grants_values_and_releases", says: "comes twice"},
	{fault: "observation ends without an error", check: "observe_ends", says: "want one of each"},
	{fault: "end comes with the next grant", check: "observe_waiters", says: "is not seen before the next holder"},
	{fault: "queue is not observed", check: "observe_waiters", says: "no state of", hangs: true},
	{fault: "queue is observed backwards", check: "observe_waiters", says: "no state of", hangs: true},
	{fault: "one unlock frees all", check: "observe_reentry", says: "no state of", hangs: true},
	{fault: "each lock is a holder", check: "observe_reentry", says: "has one holder twice"},
	{fault: "end comes with the next grant", check: "observe_each_holder", says: "is not seen before the next holder"},
	{fault: "no exclusion", check: "observe_each_holder", says: "exclude each other"},
	{fault: "one token for all", check: "observe_grants_values_and_releases", says: "is seen after one with token 7"},
	{fault: "units are not observed", check: "observe_shared_and_slots", says: "no state of", hangs: true},
	{fault: "break is not reported", check: "observe_broken_locks", says: "has not ended", hangs: true},
	{fault: "hold limit ignored", check: "observe_hold_limits", says: "no state of", hangs: true},
	{fault: "gaps are hidden", check: "observe_slowly", says: "nothing says that others were missed"},
	{fault: "input unchecked", check: "observe_bad_names", says: "want error bad name"},
	{fault: "any space exists", check: "observe_bad_names", says: "want error unknown space"},
	{fault: "closed is observed on", check: "observe_closed", says: "want closed", hangs: true},
	{fault: "observers see one space", check: "observe_spaces", says: "a state of"},
	{fault: "always wanted", check: "observe_wanted", says: "and no request"},
	{fault: "queue is not observed", check: "observe_wanted", says: "the lock is not wanted", hangs: true},
	{fault: "bare errors", check: "try_lock", says: "is not a *holdfast.Error"},
}

// TestMutants shows that the suite bites: each fault is caught by the checks that are
// there for it, on the promise's own terms, and the same check passes without it
// (TestReference).
func TestMutants(t *testing.T) {
	parallel.SkipBrief(t)
	const longest = 2 * time.Minute
	for _, m := range mutants {
		t.Run(m.fault+"/"+m.check, func(t *testing.T) {
			if raceDetector && m.check == "exclusion" {
				t.Skip("the race detector itself would report this mutant")
			}
			t.Parallel()
			patience := longest
			if m.hangs {
				patience = 2 * time.Second
			}
			for {
				got := complaint(t, m.fault, m.check, patience)
				if got == "" {
					t.Fatalf("the check passes a Locker with the fault %q", m.fault)
				}
				if strings.Contains(got, m.says) {
					return
				}
				if patience >= longest {
					t.Fatalf("the complaint does not say %q:\n%s", m.says, got)
				}
				patience *= 6
			}
		})
	}
}

// complaint performs one check on a Locker with a fault.
func complaint(t *testing.T, fault, checkName string, patience time.Duration) string {
	t.Helper()
	a := newAuthority(fault)
	defer a.end()
	if fault == "class ignored" {
		a.class = 0
	}
	caps := a.caps()
	caps.Rounds, caps.Patience = 2000, patience
	return attempt(t, checkName, a.open, caps)
}
