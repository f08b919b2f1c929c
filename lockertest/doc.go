// Package lockertest is the conformance suite that every [holdfast.Locker] passes: a network client, an embedded
// member, a locker over a store.
//
// [Run] checks the guarantees only through the caller's side of the API: granted locks, a Lock's Context, and errors.
// It does not depend on how an implementation works. A test of an implementation is short:
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
// The authority is set up before Run and outlives it: all Lockers opened within one Run see the same locks. Each call
// of open returns a new Locker with a separate session. It runs on the goroutine of the subtest whose testing.TB it
// receives, so it may fail that subtest and register cleanups on it. The suite closes each Locker that it opened,
// before those cleanups run.
//
// [Caps] describes what the implementation lacks, and what it offers in addition. It must refuse a missing feature with
// ErrUnsupported rather than offer a part of it. Some events can only be caused from outside (the loss of a session, an
// operator's break, a release under another session's token): Caps has a hook for each, and a subtest whose hook is nil
// is skipped with a message. The values of locks are read by a hook as well.
//
// # How the suite waits
//
// No subtest sleeps or compares durations, so none depends on the speed of the machine. The suite knows the order of
// two requests because OnQueued has reported the first. Every Locker must therefore call OnQueued for a request that
// has to wait. This includes one without a queue (Caps.NoFIFO), whose position the suite ignores. The suite infers that
// a lock is still held from events that cannot have happened yet. The subtest's patience limits every wait; only a
// stuck test reaches it. Unlock returns when the authority has the release, so TryLock can take an unlocked name; after
// UnlockAsync the suite uses Lock, which waits.
//
// Names begin with the name of the subtest, so one authority serves many runs and subtests do not collide. Run keeps no
// state and its subtests run one after another; other runs, and other tests, may run at the same time.
package lockertest
