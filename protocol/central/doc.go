// Package central is the protocol in which one coordinator keeps the lock table:
// JGroups' CENTRAL_LOCK2, whole and with its published holes closed.
//
// # The manager, on one page
//
// A course on distributed systems begins with this: one process is the manager. Who
// wants a resource sends it REQUEST and waits for GRANT; who has used it sends RELEASE.
// The manager keeps who has it and a queue of who wants it, first come first served. A
// use costs three messages and no broadcast. With a message's time T and W of use the
// resource is in use W/(W+2T) of the time, because a hand-over is a release and a grant,
// and one process alone gets it 1/(W+3T) times a second: request, grant, use, release.
//
// What the page leaves out is the rest of this package: messages are lost, doubled and
// reordered; processes stop, sleep and return; and the manager itself dies with the
// table in its head. Here the manager is the coordinator of a [protocol.View], and the
// next one rebuilds the table from those who have what is in it: the holders.
//
// # Roles
//
// Every member is a holder: it speaks for its own clients. One of them is the
// coordinator of the view as well: it has the [lock.Table], and decides.
//
//   - A holder has a record of each request of its clients, from when it is asked until
//     nothing of it is left anywhere. It answers a request Queued at once (at a position
//     that is −1 until the coordinator has told it), and Granted or Refused later. It
//     sends what it wishes, again after T, 2T, 4T, 8T, 8T, … until that is answered. A
//     Release is answered when the coordinator has taken it, a Cancel at once, because
//     whatever comes after it is given back.
//   - The coordinator's own clients are in its table and nowhere else: two copies could
//     only disagree, and a lock there costs no message and no record. When its role ends
//     they become records in that moment, and when a member's role begins its records
//     become the table's.
//
// # Messages
//
//	holder → coordinator   Acquire Release Extend EndSession Ask InfoAnswer Acks
//	coordinator → holder   Decided (granted, queued, refused, lost, revoked) Answer InfoRequest Acks
//
// They are the original's GRANT_LOCK, RELEASE_LOCK, LOCK_INFO_RSP, and LOCK_GRANTED,
// LOCK_DENIED, LOCK_REVOKED, LOCK_INFO_REQ; RELEASE_LOCK_OK is an acknowledgement that
// rides on the next message, or travels by itself, with others, after T/5. Each message
// carries the epoch, the holder's tenure, and the wish's number, which is never used
// again; what does not match is void. What is told until it is heard is acknowledged by
// a number of its own, so that a late acknowledgement is of nothing else. So a remote
// lock is 2 messages, an unlock 1, a refused try-lock 2, a request that has to queue
// one more (Queued), any of them at the coordinator 0, and a change of coordinator
// 2(n−1), with an acknowledgement to each who had something to report. All of that is
// asserted in testdata/counts.txt.
//
// # A change of coordinator
//
// The first member of a view of a new epoch asks all others, chunk by chunk
// (InfoRequest, InfoAnswer). Holds go into a paused table as they come. When everybody
// has reported, its own clients' holds follow, and all that waits queues by age, as
// each one's own member has measured it; ties go by seniority, then by request. It
// grants when, beside, whoever has joined the view meanwhile has reported too, the view
// is installed and GrantFrom has come. Wishes that come before are dropped: the holder,
// who sends none before it has been asked, repeats them. Nobody is waited for by a
// timeout, and nobody left out but by a view. Who is dropped before having reported may
// hold anything: then its time to be free is waited for, for all names.
//
// Whoever has heard that its whole report is known raises Confirmed; with nothing held,
// at once. What is not confirmed ends at Lease.Carried, told as lost: authority changed.
// A lapse ends all holds as lost: member lost; what waits is asked for again under the
// next tenure, and package session ends the clients' sessions.
//
// Holds that exclude each other are all taken into the table, and some of them revoked: the
// least set of the lowest. They are told duplicate in mode any, and authority changed in
// primary, where that is nobody's rightful grant. While more is held than fits, nobody is
// granted the name: a loser's place is free when it has released it, when its session or
// its hold limit has ended, or when its tenure is free, and not before.
//
// Under a living coordinator a newcomer is asked in the same way while grants go on. Of a
// dropped tenure the waits go at once, the holds at Dropped.Free.
//
// # Invariants
//
//   - One role decides: requests are executed by a coordinator that is in charge.
//   - A wish acts once. A grant is taken from the coordinator of the newest view, under
//     its epoch, which is none below what is promised, by the tenure that asked, for a
//     wish that is wanted. Any other is void or is given back; a grant is repeated until
//     it is taken or given back, so nothing is stranded.
//   - A release and the next grant are one step. A request travels with the releases of
//     its name that are under way, and comes after them, in whatever order they arrive.
//   - Who holds counts from when its client asked, who grants from when it granted, and
//     longer by the drift. An extension is told by messages and therefore never shortens
//     at the coordinator; a holder whose shorter limit is over says so.
//   - Tokens are reign·2³² + count; the reign is the view's epoch.
//   - A member speaks for its own sessions only: its id, incarnation and lapses stand in
//     the session's and the wish's number.
//
// # Bounds
//
// Records: lock.Config.LocksPerSession a session, then ErrLimit. Queues and names: the
// table's bounds. A chunk: Config.Chunk requests and 1 MiB of texts. Operators' calls:
// Config.Operators, then ErrLimit. Acknowledgements: 256, then they travel. Releases that
// a request follows: 64, then the request waits for some of them.
//
// # The original's holes, and how each is closed
//
//	H1  both sides of a partition grant     the exclusion wait of membership; in mode any they do, and whoever has to go is told
//	                                        when they meet, by a merged view or by one joining the other
//	H2  revocation is advisory, its order   a revoked grant stays taken until its holder has stopped; in mode any the one of the
//	    arbitrary                           older reign stays, then of the more senior member, and as few go as can be
//	H3  a grant comes after the report      void by its epoch; a new reign's grants come after the report by construction
//	H4  a released lock is reported held    reported as a release only; should two reports still conflict, in mode primary, the
//	                                        newer grant stays, for the older one must have ended before
//	H5  the coordinator is ahead of the     its InfoRequest is kept until the view comes; nothing else is sent before the answer
//	    holder's view
//	H6  requests queue at who is no         void by their epoch; nobody but a coordinator executes them, and none keeps them
//	    coordinator
//	H7  a request outlives its sender       a request is executed when it comes or not at all, and its waits go with its tenure
//	H8  a waiter for a condition is granted there are no conditions
//	H9  a missing responder is ignored      it is waited for until a view drops it, and then until it can hold nothing
//	H10 a second request is dropped         it is a wish of its own, with its own number and answer
//	H11 stale entries survive a merge       no table survives its epoch
//	H12 an unlock that times out is held on the hold ends with the call; the release is repeated until it is taken
//	H13 reconciliation blocks views         it is a state, in which everything else goes on
//	H14 a try-lock waits without limit      its member refuses it after its wait limit or 4T without an answer, and takes it back
//	H15 threads of a node share locks       an owner is a session and an owner's name, never a process
//
// # What each crash does
//
// The crash matrix of the specification's section 6b is testdata/crash_matrix.txt, row by
// row, its reference traces (section 15) are testdata/traces.txt, and the tests of the
// original (section 12) are named where their scenario is played.
//
// # Other differences from what was published, and why
//
//   - Owners are (session, owner id), not threads, and reentrancy is counted (section 7:
//     the original's lock, lock, unlock leaves the name free).
//   - UNLOCK of what is not held is ErrNotHeld, not silence.
//   - Fencing tokens, hold limits, shared locks and slots are ours.
//   - Conditions (LOCK_AWAIT and its kin) are not offered; the original's are lost with
//     their coordinator.
//
// # Operators
//
// Break, Show, Scan and Inspect are answered by the coordinator, whichever member is
// asked. A Break is executed once, or its answer is ErrUnavailable: then, if its
// coordinator was lost meanwhile, it may have been. Show and Scan travel in parts of
// Config.Chunk holders and waiters; a queue that changes between two parts is told as it
// was at each.
package central
