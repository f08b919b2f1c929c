package claim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// scenario is one of the original's tests, played by these machines.
type scenario struct {
	name  string // name of the original
	ours  string // a difference by design; "" if there is none
	lines string
	want  []string // in this order
	never []string
}

// play plays the lines, and returns the conversation.
func play(t *testing.T, lines string) (said string) {
	t.Helper()
	s := protocoltest.NewStored(t, Descriptor(), reader{})
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			said += s.Say(line)
		}
	}
	return said
}

func (s *scenario) run(t *testing.T) {
	t.Helper()
	said := play(t, s.lines)
	rest := said
	for _, want := range s.want {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not said, or not then:\n%s", want, said)
		}
		rest = after
	}
	for _, never := range s.never {
		if strings.Contains(said, never) {
			t.Errorf("%q is in the conversation:\n%s", never, said)
		}
	}
}

const one = "quietly members skew=40ms a\nquietly view epoch=4 open\n"
const two = "quietly members skew=40ms a b\nquietly view epoch=4 open\n"

// TestUpstreamWrites plays ConsistentKeyLockerTest.testWriteLock*.
func TestUpstreamWrites(t *testing.T) {
	for _, s := range []scenario{
		{
			name:  "testWriteLockInSimplestCase",
			lines: one + "lock a1 #1 X\nat 101ms",
			want:  []string{"write X +a@0s\n", "granted X token=1:0"},
		}, {
			name:  "testWriteLockRetriesAfterOneStoreTimeout",
			lines: one + "slow store>a:Mutate 1\nlock a1 #1 X\nat 5s\nflow store>a:Mutate\nat 5101ms",
			want:  []string{"+a@0s\n", "+a@5s −a@0s", "granted X token=1:5000000"},
		}, {
			name:  "testWriteLockThrowsExceptionAfterMaxStoreTimeouts",
			ours:  "who waits, waits on; who does not want to wait is refused",
			lines: one + "slow store>a:Mutate 3\nlock a1 #1 X try\nat 1s\npass store>a:Mutate\nat 2s\npass store>a:Mutate\nat 3s\npass store>a:Mutate\nrows",
			want:  []string{"+a@0s\n", "+a@1s −a@0s", "+a@2s −a@1s", "write X −a@2s", "refused X (unavailable: the store was asked 3 times: the write of a claim took 1s", "row X: nothing"},
		}, {
			name:  "testWriteLockDiesOnPermanentStorageException",
			ours:  "a permanent error says that nothing was done, so nothing is deleted",
			lines: one + "deny a>store:Mutate\nlock a1 #1 X\nat 1s",
			want:  []string{"+a@0s ✗", "refused X (unavailable: the store does not take it)"},
			never: []string{"+a@1µs", "−a@0s"},
		}, {
			name:  "testWriteLockRetriesOnTemporaryStorageException",
			ours:  "what was refused left nothing; of what is unknown the next write deletes the column",
			lines: one + "cut store>a:Mutate 1\nlock a1 #1 X\nat 110ms",
			want:  []string{"+a@0s\n", "+a@1µs −a@0s", "granted X token=1:1"},
		}, {
			name:  "testWriteLockFailsOnLocalContention",
			ours:  "contention within a process is no error: who wants to wait does, who does not is refused without a word to the store",
			lines: one + "quietly lock a1 #1 X\nquietly at 101ms\nlock a2 #1 X\nlock a3 #1 X try",
			want:  []string{"a2 #1 queued X position=0", "a3 #1 refused X (held"},
			never: []string{"a→store"},
		}, {
			name:  "testWriteLockDetectsMultiTxContention",
			ours:  "the second one waits until the first lets go",
			lines: one + "lock a1 #1 X\nlock a2 #1 X\nat 1s\nunlock a1 #1 X\nat 1101ms",
			want:  []string{"a1 #1 granted", "a2 #1 granted X token=1:1000000"},
		}, {
			name:  "testWriteLockIdempotence",
			ours:  "a request that is repeated is answered what it was answered",
			lines: one + "quietly lock a1 #1 X\nquietly at 101ms\nquietly count\nlock a1 #1 X\ncount",
			want:  []string{"granted X token=1:0", "messages: none"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

// TestUpstreamChecks plays ConsistentKeyLockerTest.testCheck*.
func TestUpstreamChecks(t *testing.T) {
	const longAgo = "-2400h"
	for _, s := range []scenario{
		{
			name:  "testCheckLocksInSimplestCase",
			ours:  "I6: the row is read strictly more than W after the timestamp",
			lines: one + "lock a1 #1 X\nat 100ms\nquietly count\nat 100000001ns\ncount",
			want:  []string{"read X", "a@0s", "granted", "messages: Slice 1"},
		}, {
			name:  "testCheckOwnExpiredLockThrowsException",
			ours:  "a claim that stood for a third of its expiry is of no use, and written anew",
			lines: one + "lock a1 #1 X\nslow store>a:Slice\nat 101ms\nat 40s\nflow store>a:Slice\nat 41s",
			want:  []string{"a@0s", "+a@40s −a@0s", "granted X token=1:40000000"},
			never: []string{"granted X token=1:0\n"},
		}, {
			name:  "testCheckLocksIgnoresOtherExpiredLocks",
			lines: one + "foreign X z " + longAgo + "\nforeign X a " + longAgo + "\nlock a1 #1 X\nat 101ms",
			want:  []string{"granted X token=1:0"},
		}, {
			name:  "testCheckLocksIdempotence",
			ours:  "who holds is not checked again until he renews",
			lines: one + "quietly lock a1 #1 X\nquietly at 101ms\nquietly count\nat 9s\ncount",
			want:  []string{"messages: none"},
		}, {
			name:  "testCheckLocksFailsWithSeniorClaimsByOthers",
			ours:  "a junior stands, and has the lock when the senior is gone; who does not want to wait is refused",
			lines: one + "foreign X z -1ms\nlock a1 #1 X try\nat 110ms\nlock a1 #2 X\nat 220ms\nerase X z -1ms\nat 300ms",
			want:  []string{"write X −a@0s", "refused X (held by z)", "+a@110ms", "granted X token=1:110000"},
		}, {
			name:  "testCheckLocksSucceedsWithJuniorClaimsByOthers",
			lines: one + "lock a1 #1 X\nforeign X z 1ms\nat 101ms",
			want:  []string{"a@0s, z@1ms", "granted X token=1:0"},
		}, {
			name:  "testCheckLocksSucceedsWithSeniorAndJuniorClaimsBySelf",
			lines: one + "foreign X a -1ms\nlock a1 #1 X\nforeign X a 1ms\nat 101ms",
			want:  []string{"a@-1ms, a@0s, a@1ms", "granted X token=1:0"},
		}, {
			name:  "testCheckLocksRetriesAfterSingleTemporaryStorageException",
			lines: one + "lock a1 #1 X\nrefuse a>store:Slice 1\nat 101ms",
			want:  []string{"refused it, for now", "read X", "granted X token=1:0"},
		}, {
			name:  "testCheckLocksThrowsExceptionAfterMaxTemporaryStorageExceptions",
			ours:  "and the claim is deleted, so that a rollback that comes late is in no other's way (W11)",
			lines: one + "lock a1 #1 X try\nrefuse a>store:Slice 3\nat 101ms\nrows",
			want:  []string{"refused X (unavailable: the store was asked 3 times: the store has refused it, for now)", "row X: nothing"},
		}, {
			name:  "testCheckLocksDiesOnPermanentStorageException",
			lines: one + "lock a1 #1 X\ndeny a>store:Slice\nat 101ms\nrows",
			want:  []string{"✗", "refused X (unavailable: the store does not take it)", "row X: nothing"},
			never: []string{"✗\n  store→a #7 the store does not take it\n  a→store #9 read"},
		}, {
			name:  "testCheckLocksDoesNothingForUnrecognizedTransaction",
			lines: one + "quietly count\nat 1s\ncount",
			want:  []string{"messages: none"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

// TestUpstreamDeletes plays ConsistentKeyLockerTest.testDelete*.
func TestUpstreamDeletes(t *testing.T) {
	const held = one + "quietly lock a1 #1 X\nquietly lock a1 #2 Y\nquietly at 101ms\n"
	for _, s := range []scenario{
		{
			name:  "testDeleteLocksInSimplestCase",
			ours:  "and the claim's timestamp stays as the row's mark",
			lines: held + "unlock a1 #1 X\nrows",
			want:  []string{"write X +mark=a@0s −a@0s", "released X", "row X: mark=a@0s"},
		}, {
			name:  "testDeleteLocksOnTwoLocks",
			ours:  "the end of a session",
			lines: held + "end a1 closed\nrows",
			want:  []string{"−a@0s", "−a@0s", "row X: mark=a@0s", "row Y: mark=a@0s"},
		}, {
			name:  "testDeleteLocksRetriesOnTemporaryStorageException",
			lines: held + "refuse a>store:Mutate 1\nunlock a1 #1 X\nrows",
			want:  []string{"✗", "−a@0s\n", "released X", "row X: mark=a@0s"},
		}, {
			name:  "testDeleteLocksSkipsToNextLockAfterMaxTemporaryStorageExceptions",
			ours:  "and goes on deleting, until it is done or the claim has expired",
			lines: held + "refuse a>store:Mutate\nunlock a1 #1 X\nheal\nunlock a1 #2 Y\nat 1s\nrows",
			want:  []string{"✗", "✗", "✗", "released X", "released Y", "row X: mark=a@0s", "row Y: mark=a@0s"},
		}, {
			name:  "testDeleteLocksSkipsToNextLockOnPermanentStorageException",
			lines: held + "deny a>store:Mutate\nunlock a1 #1 X\nrows",
			want:  []string{"✗", `1 claims of "X" are left in the store: the store does not take it`, "released X", "row X: a@0s"},
		}, {
			name:  "testDeleteLocksDeletesUncheckedLocks",
			lines: one + "lock a1 #1 X\nat 50ms\ncancel a1 #1 X\nrows",
			want:  []string{"write X −a@0s", "row X: nothing"},
		}, {
			name:  "testDeleteLocksIdempotence",
			lines: held + "quietly unlock a1 #1 X\nquietly count\nunlock a1 #1 X\ncount",
			want:  []string{"messages: none"},
		}, {
			name:  "testDeleteLocksDoesNothingForUnrecognizedTransaction",
			lines: held + "quietly count\nunlock a3 #1 X\ncount",
			want:  []string{"refused X (not held)", "messages: none"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

// TestUpstreamMediator plays LocalLockMediatorTest and the expiry scenarios of LockKeyColumnValueStoreTest. Here a lock
// expires with its claim in the store.
func TestUpstreamMediator(t *testing.T) {
	const short = "quietly members skew=40ms expiry=6s a b\nquietly view epoch=4 open\n"
	for _, s := range []scenario{
		{
			name:  "LocalLockMediatorTest.testLockExpiration",
			lines: short + "quietly lock a1 #1 X\nquietly lock a2 #1 X\nquietly at 101ms\nquietly refuse a>store\nquietly at 6s\nquietly heal\nat 8s",
			want:  []string{"a2 #1 granted X"},
		}, {
			name:  "expiredRemoteLockIsIgnored",
			lines: short + "quietly lock a1 #1 X\nquietly at 101ms\ncrash a\nquietly at 6100ms\nlock b1 #1 X try\nat 6201ms",
			want:  []string{"b1 #1 granted X"},
		}, {
			name:  "testRemoteLockContention",
			ours:  "the second one waits",
			lines: short + "quietly lock a1 #1 X\nquietly lock b1 #1 X\nat 101ms\nquietly at 1s\nunlock a1 #1 X\nat 1200ms",
			want:  []string{"a1 #1 granted", "b1 #1 queued X position=0", "a1 #1 released", "b1 #1 granted"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

// TestUpstreamCleaner plays ConsistentKeyLockerTest.testCleanExpiredLock, LockCleanerRunnableTest and
// LockCleanerServiceTest. This implementation looks for old claims when it has got a lock, and so not when its own
// claim has expired.
func TestUpstreamCleaner(t *testing.T) {
	const cleans = "quietly members skew=40ms expiry=6s cleaner a\nquietly view epoch=4 open\n"
	for _, s := range []scenario{
		{
			name:  "testCleanExpiredLock",
			lines: cleans + "foreign X z -7s\nlock a1 #1 X\nat 101ms\nrows",
			want:  []string{"granted", "write X +mark=z@-7s −z@-7s", "row X: a@0s, mark=z@-7s"},
		}, {
			name:  "testDeleteSingleLock",
			lines: cleans + "foreign X z -5940ms\nquietly at 1ms\nlock a1 #1 X\nat 102ms",
			want:  []string{"−z@-5.94s"},
		}, {
			name:  "testDeletionWithExpiredAndValidLocks",
			ours:  "the valid ones are junior, or we would not have the lock",
			lines: cleans + "foreign X x -9s\nforeign X y -8s\nforeign X z -7s\nquietly lock a1 #1 X\nforeign X r 1ms\nforeign X s 2ms\nforeign X t 3ms\nforeign X u 4ms\nforeign X v 5ms\nforeign X w 6ms\nforeign X q 7ms\nat 101ms\nrows",
			want:  []string{"write X +mark=z@-7s −x@-9s −y@-8s −z@-7s\n", "row X: a@0s, r@1ms, s@2ms, t@3ms, u@4ms, v@5ms, w@6ms, q@7ms, mark=z@-7s"},
		}, {
			name:  "testPreservesLocksAtOrAfterCutoff",
			ours:  "what is read begins at the cutoff, and what is cleaned ends there; here it is 100 ms − 6.04 s",
			lines: cleans + "foreign X a -5940ms\nforeign X a -5939999us\nquietly lock a1 #1 X\nat 101ms\nrows",
			want:  []string{"read X from start to -5.94s", "nothing", "row X: a@-5.94s, a@-5.939999s, a@0s"},
		}, {
			name:  "testCleanCooldownBlocksRapidRequests",
			lines: cleans + "quietly lock a1 #1 X\nquietly at 101ms\nquietly unlock a1 #1 X\nforeign X z -7s\nlock a1 #2 X\nat 300ms",
			want:  []string{"granted"},
			never: []string{"from start"},
		}, {
			name:  "testCleanCooldownElapses",
			ours:  "the cooldown is 30 s, for each name",
			lines: cleans + "quietly lock a1 #1 X\nquietly at 101ms\nquietly unlock a1 #1 X\nquietly at 30102ms\nlock a1 #2 X\nat 30300ms\nlock a1 #3 Y\nat 30500ms",
			want:  []string{"read X from start", "read Y from start"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

// TestBeyondUpstream has scenarios that the original does not test.
func TestBeyondUpstream(t *testing.T) {
	for _, s := range []scenario{
		{
			name:  "a ghost after a deletion that was never done",
			ours:  "its own process passes it over, others wait until it expires, and are not kept longer",
			lines: "quietly members skew=40ms expiry=6s a b\nquietly view epoch=4 open\nforeign X a -1s\nlock a1 #1 X\nat 101ms\nquietly unlock a1 #1 X\nlock b1 #1 X\nquietly at 4s\nat 5300ms",
			want:  []string{"a1 #1 granted X token=1:0", "b1 #1 granted X"},
		}, {
			name:  "of equal timestamps the lower rid",
			lines: two + "quietly lock b1 #1 X\nquietly lock a1 #1 X\nat 110ms",
			want:  []string{"a1 #1 granted X token=1:0", "b1 #1 queued X position=0"},
			never: []string{"b1 #1 granted"},
		}, {
			name:  "tries that run out leave nothing (W8)",
			lines: one + "cut store>a:Mutate 3\nlock a1 #1 X try\nrows",
			want:  []string{"−a@0s −a@1µs −a@2µs", "row X: nothing"},
		}, {
			name:  "a permanent error after an unknown one leaves nothing (W8)",
			lines: one + "cut store>a:Mutate 1\nlock a1 #1 X\nat 1ms\nrows\nquietly unlock a1 #1 X\nquietly cancel a1 #1 X\nslow a>store:Mutate 1\nlock a1 #2 Y try\ndeny a>store:Mutate 1\nflow a>store:Mutate\nat 200ms\nrows",
			want:  []string{"+a@1µs −a@0s", "row X: a@1µs"},
		}, {
			name:  "a clock that steps back while a claim is written does not make it look fast",
			lines: one + "slow a>store:Mutate 1\nlock a1 #1 X\nat 90ms\nwall a -80ms\nflow a>store:Mutate\nat 300ms",
			want:  []string{"+a@0s …", "+a@10ms −a@0s", "granted X token=1:10000"},
		}, {
			name:  "a row key has its length in it",
			lines: one + "lock a1 #1 bc\nlock a1 #2 c\nat 101ms",
			want:  []string{"granted bc", "granted c"},
		},
	} {
		t.Run(s.name, s.run)
	}
}
