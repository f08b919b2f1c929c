package consensus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// scenario is one of the tests of Hazelcast's AbstractFencedLockFailureTest, in which each operation has an id and is
// sent again, played by these machines. In lines and outputs, R is the member through which it is sent again.
type scenario struct {
	name  string // the original's; after a comma, the additional variant
	ours  string // a difference by design; "" if there is none
	lines string
	want  []string // in this order; … is anything that follows
	never []string
}

// way is how an operation is repeated. The line "again N,M" of a scenario, before it is, marks the point at which its
// client, which has not heard of requests N and M or has not settled them, goes to R.
type way struct {
	name string
	goes string
	to   string
}

// ways are all of them. a leads at first.
var ways = []way{
	{"through the same member", "", "a"},
	{"through another member", "adopt b7 REQUESTS\nbeat b7\n", "b"},
	{"through another member, when the one that led is gone", "crash a\nadopt b7 REQUESTS\nbeat b7\n", "b"},
	{"through the same member, when it has begun anew", "crash a\nstart a\nadopt a7 REQUESTS\nbeat a7\n", "a"},
}

// of is the scenario in that way.
func (w *way) of(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if requests, is := strings.CutPrefix(line, "again "); is {
			all.WriteString(strings.ReplaceAll(w.goes, "REQUESTS", requests))
		} else if line != "" {
			all.WriteString(line + "\n")
		}
	}
	return strings.NewReplacer("R ", w.to+" ", "R7", w.to+"7", "R:", w.to+":").Replace(all.String())
}

// overture is three members of which the first leads, and sessions 7, 8 and 9 at one each.
const overture = "members a b c\ntransfer a a\nenroll a7\nenroll c8\nenroll b9\n"

func (s *scenario) run(t *testing.T, w *way) {
	t.Helper()
	said := golden.Transcript(t, s.name, overture+w.of(s.lines), begin(t))
	_, since, crashed := strings.Cut(said, "\ncrash a\n")
	if crashed != strings.Contains(w.goes, "crash") || crashed && !strings.Contains(since, " leads shard 0\n") {
		t.Fatalf("the one that led has crashed: %t; want that, and that another leads, where its client goes on behind a crash:\n%s", crashed, said)
	}
	if !strings.Contains(said, "a: leads shard 0") || w.goes != "" && !strings.Contains(said, w.to+": adopted 7") {
		t.Fatalf("a does not lead, or %s has not adopted the session:\n%s", w.to, said)
	}
	rest := said
	for _, line := range s.want {
		want, begins := strings.CutSuffix(strings.TrimSuffix(w.of(line), "\n"), "…")
		if want = "  " + want; !begins {
			want += "\n"
		}
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not said, or not then:\n%s", want, said)
		}
		rest = after
	}
	for _, never := range s.never {
		if strings.Contains(said, strings.TrimSuffix(w.of(never), "\n")) {
			t.Errorf("%q is in the conversation:\n%s", never, said)
		}
	}
}

func playAll(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		for i := range ways {
			t.Run(fmt.Sprint(s.name, "/", ways[i].name), func(t *testing.T) { s.run(t, &ways[i]) })
		}
	}
}

// TestUpstreamAcquires plays repetitions of a lock, or a try, that was granted.
func TestUpstreamAcquires(t *testing.T) {
	playAll(t, []scenario{
		{
			name: "testLockAcquireRetry",
			lines: `lock a7 #1 X
				again 1
				lock R7 #1 X
				holds R7
				unlock R7 #1 X
				show c X
				`,
			want:  []string{"told a7 #1 granted X token=2:1", "told R7 #1 granted X token=2:1", "R: holds 1", "call R7 #1 released X token=2:1", "c: X exclusive"},
			never: []string{"X token=2:2", "X token=3:1"},
		}, {
			name: "testLockAcquireRetry, of a try",
			lines: `lock a7 #1 X try
				again 1
				lock R7 #1 X try
				holds R7
				unlock R7 #1 X
				show c X
				`,
			want:  []string{"told a7 #1 granted X token=2:1", "told R7 #1 granted X token=2:1", "R: holds 1", "call R7 #1 released X token=2:1", "c: X exclusive"},
			never: []string{"refused"},
		}, {
			name: "testLockReentrantAcquireRetry",
			lines: `lock a7 #1 X owner=J
				lock a7 #2 X owner=J
				again 1,2
				lock R7 #2 X owner=J
				holds R7
				unlock R7 #2 X
				show c X
				unlock R7 #1 X
				show c X
				`,
			want: []string{
				"told a7 #1 granted X token=2:1", "told a7 #2 granted X token=2:1", "told R7 #2 granted X token=2:1", "R: holds 2",
				"call R7 #2 released X token=2:1", "c: X exclusive holder=s7 token=2:1", "call R7 #1 released X token=2:1", "c: X exclusive",
			},
		}, {
			name: "testLockReentrantAcquireRetry, of tries",
			lines: `lock a7 #1 X owner=J try
				lock a7 #2 X owner=J try
				again 1,2
				lock R7 #2 X owner=J try
				holds R7
				unlock R7 #2 X
				unlock R7 #1 X
				show c X
				`,
			want:  []string{"told a7 #2 granted X token=2:1", "told R7 #2 granted X token=2:1", "R: holds 2", "call R7 #1 released X token=2:1", "c: X exclusive"},
			never: []string{"refused"},
		},
	})
}

// TestUpstreamPending plays repetitions of a request that has waited, or still does.
func TestUpstreamPending(t *testing.T) {
	playAll(t, []scenario{
		{
			name: "testPendingLockAcquireRetry",
			lines: `lock c8 #1 X
				lock a7 #1 X wait=5m
				unlock c8 #1 X
				again 1
				lock R7 #1 X wait=5m
				holds R7
				unlock R7 #1 X
				show c X
				`,
			want: []string{
				"told a7 #1 queued X position=0", "told a7 #1 granted X token=2:2", "told R7 #1 granted X token=2:2", "R: holds 1",
				"call R7 #1 released X token=2:2", "c: X exclusive",
			},
		}, {
			name: "testPendingLockAcquireRetry, of one that comes again while it waits",
			lines: `lock c8 #1 X
				lock a7 #1 X wait=5m
				again 1
				lock R7 #1 X wait=5m
				unlock c8 #1 X
				holds R7
				unlock R7 #1 X
				show c X
				`,
			want: []string{"told a7 #1 queued X position=0", "told R7 #1 queued X position=0", "R: holds 1", "call R7 #1 released X…", "c: X exclusive"},
		},
	})
}

// TestUpstreamWaits plays waiting requests that are repeated, or followed by another request or an unlock.
func TestUpstreamWaits(t *testing.T) {
	// held makes one client hold X, and others makes another one wait after the present waiters.
	const held, others = "lock c8 #1 X\n", "lock b9 #1 X\n"
	unchanged := []string{"told a7 #1 queued X position=0", "told b9 #1 queued X position=1", "told R7 #1 queued X position=0", "c: X exclusive holder=s8 token=2:1 waiter=s7#1 waiter=s9#1"}
	playAll(t, []scenario{
		{
			name:  "testRetriedLockDoesNotCancelPendingLockRequest",
			lines: held + "lock a7 #1 X wait=5m\n" + others + "again 1\nlock R7 #1 X\nshow c X\n",
			want:  unchanged,
		}, {
			name:  "testRetriedTryLockWithTimeoutDoesNotCancelPendingLockRequest",
			lines: held + "lock a7 #1 X wait=5m\n" + others + "again 1\nlock R7 #1 X wait=5m\nshow c X\n",
			want:  unchanged,
		}, {
			name:  "testRetriedTryLockWithoutTimeoutDoesNotCancelPendingLockRequest",
			lines: held + "lock a7 #1 X wait=5m\n" + others + "again 1\nlock R7 #1 X try\nshow c X\n",
			want:  unchanged,
			never: []string{"refused"},
		}, {
			name:  "testNewLockCancelsPendingLockRequest",
			ours:  "a session may ask for a name more than once, and each request waits for itself: what is not wanted any more is cancelled",
			lines: held + "lock a7 #1 X wait=5m\nagain 1\nlock R7 #2 X\nshow c X\ncancel R7 #1 X\nshow c X\nunlock c8 #1 X\n",
			want: []string{
				"told a7 #1 queued X position=0", "told R7 #2 queued X position=1", "c: X exclusive holder=s8 token=2:1 waiter=s7#1 waiter=s7#2",
				"call R7 #1 released X", "c: X exclusive holder=s8 token=2:1 waiter=s7#2",
			},
			never: []string{"7 #1 granted"},
		}, {
			name:  "testNewTryLockWithTimeoutCancelsPendingLockRequest",
			ours:  "as before: both wait, and have the lock one after the other",
			lines: held + "lock a7 #1 X wait=5m\nagain 1\nlock R7 #1 X wait=5m\nlock R7 #2 X wait=5m\nshow c X\nunlock c8 #1 X\nunlock R7 #1 X\nlist R7\n",
			want: []string{
				"told R7 #2 queued X position=1", "c: X exclusive holder=s8 token=2:1 waiter=s7#1 waiter=s7#2", "told R7 #1 granted X…",
				"told R7 #2 granted X…", "R: has #2 X",
			},
		}, {
			name:  "testNewUnlockCancelsPendingLockRequest",
			ours:  "an unlock is of what is held: it is refused, and what waits goes on waiting",
			lines: held + "lock a7 #1 X wait=5m\nagain 1\nunlock R7 #2 X\nunlock R7 #1 X\nshow c X\nunlock c8 #1 X\nlist R7\n",
			want: []string{
				"call R7 #2 refused X (not held)", "call R7 #1 refused X (not held)", "c: X exclusive holder=s8 token=2:1 waiter=s7#1", "R: has #1 X",
			},
		}, {
			name:  "testRetriedWaitKeysAreExpiredTogether",
			lines: held + "lock a7 #1 X wait=4s\nagain 1\nlock R7 #1 X wait=4s\npass 4s\nlock R7 #1 X wait=4s\nunlock c8 #1 X\nshow c X\nlist R7\n",
			want:  []string{"told a7 #1 queued X position=0", "told R7 #1 queued X position=0", "told R7 #1 refused X (held)", "told R7 #1 refused X (held)", "c: X exclusive", "R: has"},
			never: []string{"7 #1 granted"},
		}, {
			name:  "testExpiredAndRetriedTryLockRequestReceivesFailureResponse",
			lines: held + "lock a7 #1 X wait=500ms\npass 1s\nunlock c8 #1 X\nagain 1\nlock R7 #1 X wait=500ms\nshow c X\n",
			want:  []string{"told a7 #1 refused X (held)", "call c8 #1 released X token=2:1", "told R7 #1 refused X (held)", "c: X exclusive"},
			never: []string{"7 #1 granted"},
		},
	})
}

// TestUpstreamReleases plays repetitions of an unlock, and clients that have not heard of their grant. The original has
// to find that out from its first call; this client asks for its session's holds in the space.
func TestUpstreamReleases(t *testing.T) {
	playAll(t, []scenario{
		{
			name:  "testRetriedUnlockIsSuccessfulAfterLockedByAnotherEndpoint",
			lines: "lock a7 #1 X\nunlock a7 #1 X\nlock c8 #1 X\nagain 1\nunlock R7 #1 X\nshow c X\n",
			want:  []string{"call a7 #1 released X token=2:1", "told c8 #1 granted X token=2:2", "call R7 #1 released X token=2:1", "c: X exclusive holder=s8 token=2:2"},
			never: []string{"refused"},
		}, {
			name:  "testRetriedUnlockIsSuccessfulAfterLockedByAnotherEndpoint, of a name that no other session has locked",
			lines: "lock a7 #1 X\nunlock a7 #1 X\nagain 1\nunlock R7 #1 X\nlock R7 #2 X\nunlock R7 #1 X\nshow c X\n",
			want:  []string{"call a7 #1 released X token=2:1", "call R7 #1 released X token=2:1", "told R7 #2 granted X…", "call R7 #1 released X token=2:1"},
			never: []string{"refused"},
		}, {
			name:  "testIsLockedByCurrentThreadCallInitializesLockedSessionId",
			lines: "lock a7 #1 X\nagain 1\nlist R7\n",
			want:  []string{"R: has #1 X"},
		}, {
			name:  "testLockCallInitializesLockedSessionId",
			lines: "lock a7 #1 X owner=J\nagain 1\nlock R7 #2 X owner=J\nholds R7\n",
			want:  []string{"told a7 #1 granted X token=2:1", "told R7 #2 granted X token=2:1", "R: holds 2"},
		}, {
			name:  "testUnlockCallInitializesLockedSessionId",
			lines: "lock a7 #1 X owner=J\nlock a7 #2 X owner=J\nagain 1,2\nunlock R7 #2 X\nlist R7\nshow c X\n",
			want:  []string{"call R7 #2 released X token=2:1", "R: has #1 X", "c: X exclusive holder=s7 token=2:1"},
		}, {
			name:  "testIsLockedCallInitializesLockedSessionId",
			lines: "lock a7 #1 X\nagain 1\nshow R X\n",
			want:  []string{"R: X exclusive holder=s7 token=2:1"},
		}, {
			name:  "testGetLockCountCallInitializesLockedSessionId",
			lines: "lock a7 #1 X\nagain 1\nholds R7\n",
			want:  []string{"R: holds 1"},
		},
	})
}
