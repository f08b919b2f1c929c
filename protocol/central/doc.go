// Package central is the protocol in which one coordinator keeps the lock table:
// JGroups' CENTRAL_LOCK2, whose one-page introduction is the course notes' lock
// manager: ask the manager, wait for its grant, tell it when you are done.
//
// # Roles
//
// Every member is a holder: it speaks for its own clients. The first member of the
// view is the coordinator as well: it has the [lock.Table], and decides.
//
// A holder that coordinates keeps no record of its own of what its clients hold,
// because the table next door has it: a second copy could only disagree.
//
// # Messages
//
//	holder → coordinator   Acquire Release Cancel Extend EndSession
//	coordinator → holder   Decided (granted, queued, refused, released, lost, revoked)
//
// They are the original's GRANT_LOCK, RELEASE_LOCK, LOCK_GRANTED, LOCK_DENIED,
// RELEASE_LOCK_OK and LOCK_REVOKED. Between a member's own two roles they are passed
// within one step, so that a lock at the coordinator costs no message (section 8:
// 0 network). An uncontended lock and unlock from elsewhere costs 2 + 1.
//
// # Invariants
//
//   - Exactly one role decides: requests are executed by a coordinator that is in
//     charge (its view says so, the exclusion wait is over, its role's lease runs)
//     and wait otherwise. They are never executed by a member that is not.
//   - A request is (session, id). Repeated, it acts once. A grant that crosses a
//     cancel is released: the cancel of a granted request is a release, so nothing
//     is stranded whichever comes first.
//   - A release and the next grant are one step.
//   - Tokens are reign·2³² + count; the reign is the view's epoch.
//
// # Differences from what was published, and why
//
// Section and hole numbers are those of the specification of CENTRAL_LOCK2.
//
//   - Owners are (session, owner id), not threads, and reentrancy is counted (§7:
//     the original's lock, lock, unlock leaves the name free).
//   - UNLOCK of what is not held is ErrNotHeld, not silence (§7).
//   - A request has an id, and a second GRANT with a new id is a request of its own
//     (H10: the original drops it, and its client hangs).
//   - A cancel is a message with an answer (H6, H7, H14: a request is always
//     somewhere: queued, decided, or cancelled for good).
//   - Unlock never waits ten seconds for an answer and then goes on believing that
//     the lock is held (H12): the hold ends at its owner with the call, and the
//     release is repeated until it is acknowledged.
//   - Nothing blocks: recovery is a state of the coordinator in which requests
//     queue, not a wait inside the delivery of a view (H13).
//   - A revoked grant stays taken until its holder has stopped using it (H2: there,
//     the winner may already be running).
//   - Conditions (LOCK_AWAIT and its kin) are not offered; the original's are lost
//     with their coordinator (H8).
//
// # What each crash does
//
// With one member there is one crash, its own. Its clients' deadlines pass, and a
// restart of it waits for them before it grants (package membership); its table is
// gone, and what was held is free after that wait, under a higher reign.
package central
