// Package holdfasttest provides a [holdfast.Locker] in memory, for tests of code that takes locks.
//
//	func TestImport(t *testing.T) {
//		locks := holdfasttest.New(t)
//		err := Import(t.Context(), locks, "orders/42") // the code under test
//		…
//	}
//
// The lock table is that of the members (package lock), and the Locker passes the suite that every Locker passes
// (package lockertest): queues are first come first served, and modes, slots, fencing tokens, hold limits, wait limits,
// LockAll, lockspaces, owners and limits are the real ones. Nothing else is real: there is no network, no store and no
// background goroutine, and a session ends only when the test says so.
//
// # What a test can cause
//
//   - [Locker.Client] returns another Locker over the same locks, with a session of its own: two clients compete.
//   - [Locker.Expire] ends a client's session. Its locks are lost with holdfast.SessionExpired, and its waiting calls
//     queue again in the next session, as those of a client over the network do.
//   - [Locker.Break] takes a name from its holders, as an operator does.
//   - [Locker.Pause] takes the authority away until [Locker.Resume]: nothing is granted, and Unlock waits.
//
// Each of these has acted when it returns. One that does nothing, such as a break of a name that is not held, fails the
// test. [Locker.Values] returns what the locks on a name publish (see [holdfast.Value]), for a test to compare, and
// [Locker.Observe] shows each change.
//
// # What is checked
//
// A lock that is still held at the end of the test fails it, with the name, the owner and the line that took the lock.
// [LeaveHeld] allows such locks. All Lockers are closed at that time, so calls that still wait return ErrClosed.
//
// # Time
//
// In a bubble of testing/synctest hold limits, wait limits, and the 5 s for which TryLock waits for an authority pass
// without real time. Call [New] within the bubble. As at a member, a name is granted to another client 5 % after the
// hold limit, because the clocks of two machines differ.
package holdfasttest
