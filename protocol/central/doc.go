// Package central is a lock manager on one coordinator: the coordinator of the membership view keeps the lock table
// for all members, and the next coordinator rebuilds it from what the members report. It is JGroups' CENTRAL_LOCK2, whole
// and with its published holes closed.
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
// A course on distributed systems begins with this: one process is the manager. A
// process that wants a resource sends it REQUEST and waits for GRANT; one that has used
// it sends RELEASE. The manager keeps the holder and a queue of those that want it,
// first come first served. A use costs three messages and no broadcast. With a message's
// time T and W of use the resource is in use W/(W+2T) of the time, because a hand-over
// is a release and a grant, and one process alone gets it 1/(W+3T) times a second:
// request, grant, use, release.
//
// What the page leaves out is the rest of this package: messages are lost, doubled and
// reordered; processes stop, sleep and return; and the manager itself dies with the
// table in its head. Here the manager is the coordinator of a [protocol.View], and the
// next one rebuilds the table from those who have what is in it: the holders.
//
// # Roles and messages
//
// Every member is a holder: it speaks for its own clients. One of them is the
// coordinator of the view as well: it has the [lock.Table], and decides. What the two say
// to each other, and how nothing of it is lost, acted on twice or believed too late, is
// package [authority], which other protocols share. What makes it this protocol is whose
// word counts, and from when: the coordinator of the newest view, under its epoch, from
// when every member has reported and what was promised before has run out, until its role
// ends (terms in central.go).
//
// The messages are the original's GRANT_LOCK, RELEASE_LOCK, LOCK_INFO_RSP, and
// LOCK_GRANTED, LOCK_DENIED, LOCK_REVOKED, LOCK_INFO_REQ; RELEASE_LOCK_OK is an
// acknowledgement that rides on the next message, or travels by itself, with others, after
// T/5. So a remote lock is 2 messages, an unlock 1, a refused try-lock 2, a request that
// has to queue one more (Queued), any of them at the coordinator 0, and a change of
// coordinator 2(n−1), with an acknowledgement to each who had something to report. All of
// that is asserted in testdata/counts.txt.
//
// # A change of coordinator
//
// The first member of a view of a new epoch asks all others what they hold and wait for,
// as package authority says, and grants when the view is installed as well and GrantFrom
// has come. No table survives its epoch: the next coordinator asks again. The waits of a
// dropped tenure are forgotten at once, its holds are free at Dropped.Free.
//
// Holds that exclude each other are all taken into the table, and some of them revoked: the
// least set of the lowest. The reason is duplicate in mode any, and authority changed in
// primary, where that is no client's rightful grant.
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
package central
