// Package central implements a lock manager on one coordinator: the coordinator of the membership view keeps the lock
// table for all members, and the next coordinator rebuilds it from the members' reports. It is all of JGroups'
// CENTRAL_LOCK2, with its published holes closed.
//
// A client of member b takes and releases a lock, while a is the coordinator:
//
//	client → b   lock "X"
//	     b → a   Acquire   "X", request 1        retransmitted until it is answered
//	     a → b   Decided   granted, token 4:1    b tells its client; a client of a needs no message
//	     b → a   Release   "X", request 1        when the client unlocks
//	     a → b   Acks      1                     rides on the next message to b, or goes after T/5
//
// # The manager, on one page
//
// A course on distributed systems begins with this: one process is the manager. A process that wants a resource sends
// it REQUEST and waits for GRANT; after use it sends RELEASE. The manager keeps the holder and a
// first-come-first-served queue of waiting processes. A use costs three messages and no broadcast. With message time T
// and use time W the resource is in use W/(W+2T) of the time, because a hand-over is a release and a grant, and a
// single process gets it 1/(W+3T) times a second: request, grant, use, release.
//
// The rest of this package covers what the page leaves out: messages are lost, duplicated and reordered; processes
// stop, sleep and return; and the manager itself dies with the table in its memory. Here the manager is the coordinator
// of a [protocol.View], and the next one rebuilds the table from the holders.
//
// # Roles and messages
//
// Every member is a holder: it acts for its own clients. One of them is also the coordinator of the view: it has the
// [lock.Table], and decides. Package [authority], which other protocols share, has the messages between the two, and
// ensures that none is lost, acted on twice or believed too late. This package determines who is the authority, and
// when: the coordinator of the newest view, under its epoch, from when every member has reported and all earlier
// promises have expired, until its role ends (terms in central.go).
//
// The messages are the original's GRANT_LOCK, RELEASE_LOCK, LOCK_INFO_RSP, and LOCK_GRANTED, LOCK_DENIED, LOCK_REVOKED,
// LOCK_INFO_REQ; RELEASE_LOCK_OK is an acknowledgement that rides on the next message, or travels by itself, with
// others, after T/5. A remote lock is therefore 2 messages, an unlock 1, a refused try-lock 2, a request that has to
// queue one more (Queued), any of them at the coordinator 0, and a change of coordinator 2(n−1), with an
// acknowledgement to each member that had something to report. testdata/counts.txt asserts all of these.
//
// # A change of coordinator
//
// The first member of a view of a new epoch asks all others for their holds and waits, as described in package
// authority, and grants once the view is also installed and GrantFrom has come. No table survives its epoch: the next
// coordinator asks again. The waits of a dropped tenure are forgotten at once, its holds are free at Dropped.Free.
//
// Conflicting holds are all entered in the table, and some of them revoked: the least set of the lowest. The reason is
// duplicate in mode any, and authority changed in primary, where no client holds such a grant rightfully.
//
// # The original's holes, and how each is closed
//
// docs/design/verification.md §3 has H1 to H15 of CENTRAL_LOCK2, each in a sentence.
//
//	H1  both sides of a partition grant     the exclusion wait of membership; in mode any they do, and a holder that must go hears so
//	                                        when they meet, by a merged view or by one joining the other
//	H2  revocation is advisory, its order   a revoked grant stays taken until its holder has stopped; in mode any the one of the
//	    arbitrary                           older reign stays, then of the more senior member, and as few go as can be
//	H3  a grant comes after the report      void by its epoch; a new reign's grants come after the report by construction
//	H4  a released lock is reported held    reported as a release only; should two reports still conflict, in mode primary, the
//	                                        newer grant stays, for the older one must have ended before
//	H5  the coordinator is ahead of the     its InfoRequest is kept until the view comes; nothing else is sent before the answer
//	    holder's view
//	H6  requests queue at a member that is  void by their epoch; only a coordinator executes them, and none keeps them
//	    no coordinator
//	H7  a request outlives its sender       a request is executed when it comes or not at all, and its waits go with its tenure
//	H8  a waiter for a condition is granted there are no conditions
//	H9  a missing responder is ignored      it is waited for until a view drops it, and then until it can hold nothing
//	H10 a second request is dropped         it is a request of its own, with its own number and answer
//	H11 stale entries survive a merge       no table survives its epoch
//	H12 an unlock that times out is held on the hold ends with the call; the release is repeated until it is taken
//	H13 reconciliation blocks views         it is a state, in which everything else goes on
//	H14 a try-lock waits without limit      its member refuses it after its wait limit or 4T without an answer, and takes it back
//	H15 threads of a node share locks       an owner is a session and an owner's name, never a process
//
// # What each crash does
//
// testdata/crash_matrix.txt is the crash matrix of the specification's section 6b, row by row; testdata/traces.txt has
// its reference traces (section 15); and the scenarios of the original's tests (section 12) carry their names.
//
// # Other differences from what was published, and why
//
//   - Owners are (session, owner id), not threads, and reentrancy is counted (section 7:
//     the original's lock, lock, unlock leaves the name free).
//   - UNLOCK of what is not held is ErrNotHeld, not silence.
//   - - Fencing tokens, hold limits, shared locks and slots are additions.
//   - Conditions (LOCK_AWAIT and its kin) are not offered; the original's are lost with
//     their coordinator.
package central
