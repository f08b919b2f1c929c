// Package lockertest is the conformance suite that every [holdfast.Locker] passes:
// a network client, an embedded member, a locker over a store.
//
// [Run] checks what the promises say, from the caller's side of the API alone: it
// sees what was granted, what a Lock's Context says and what an error is, and knows
// nothing of how they came about. A test of an implementation is short:
//
//	func TestConformance(t *testing.T) {
//		server := startServer(t)
//		lockertest.Run(t, func(tb testing.TB) holdfast.Locker {
//			locks, err := client.Dial(tb.Context(), server.URL)
//			if err != nil {
//				tb.Fatal(err)
//			}
//			return locks
//		}, lockertest.Caps{Class: holdfast.Fenced})
//	}
//
// # What the caller supplies
//
// The authority is set up before Run and outlives it: all Lockers opened within one
// Run see the same locks. Each call of open makes a new Locker with a session of its
// own. It is called on the goroutine of the subtest whose testing.TB it is given, so
// it may fail that subtest and register cleanups on it. The suite closes each Locker
// that it opened, before those cleanups run.
//
// [Caps] says what the implementation offers beyond, or short of, everything. What
// it does not offer must be refused with ErrUnsupported rather than given in part.
// Some events can only be made from outside (a session that vanishes, an operator's
// break, a release under another session's token): Caps has a hook for each, and a
// subtest whose hook is nil is skipped and says so.
//
// # How the suite waits
//
// No subtest sleeps and none compares durations, so none depends on how fast the
// machine is. One request is known to stand before another because OnQueued reported
// that it is queued; so every Locker calls OnQueued for a request that has to wait,
// also one that keeps no queue (Caps.NoFIFO), whose position is then not looked at.
// That a lock is still held is seen from what cannot have happened yet. Every wait is
// bounded by the subtest's patience, which ends only what is stuck. Unlock returns when the
// authority has the release, so a name that was unlocked can be had by TryLock; after
// UnlockAsync it is taken with Lock, which waits.
//
// Names begin with the name of the subtest, so one authority serves many runs and
// subtests do not meet. Run keeps no state and its subtests run one after another; other
// runs, and other tests, may go on at the same time.
package lockertest
