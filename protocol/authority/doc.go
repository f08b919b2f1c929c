// Package authority is what protocols share in which one member keeps the lock table for
// all: what its holders and it say to each other, and how that survives everything.
//
// In protocol central the authority is the view's coordinator, in protocol grantor the
// member that an elder has named. The protocol says which member it is, and when it may act
// ([Reign], [Terms]); everything else is here. A protocol embeds a [Machine] and steps it.
//
// # Roles
//
// Every member is a holder: it speaks for its own clients. One of them is the authority as
// well: it has the [lock.Table], and decides.
//
//   - A holder has a record of each request of its clients, from when it is asked until
//     nothing of it is left anywhere. It answers a request Queued at once (at a position
//     that is −1 until the authority has reported it), and Granted or Refused later. It
//     sends what it requests, again after T, 2T, 4T, 8T, 8T, … until that is answered. A
//     Release is answered when the authority has taken it, a Cancel at once, because
//     anything that comes after it is given back.
//   - The authority's own clients are in its table and nowhere else: two copies could
//     only disagree, and a lock there costs no message and no record. When its role ends
//     they become records in that moment, and when a member's role begins its records
//     become the table's.
//
// # Messages
//
//	holder → authority   Acquire Release Extend EndSession Query InfoAnswer Acks
//	authority → holder   Decided (granted, queued, refused, lost, revoked) Answer InfoRequest Acks
//
// Each carries the epoch, the holder's tenure, and the number of the request, which is never used
// again; what does not match is void. What is repeated until it is heard is acknowledged by
// a number of its own, so that a late acknowledgement is of nothing else. Acknowledgements
// ride on the next message, or travel by themselves, with others, after T/5. So a remote
// lock is 2 messages, an unlock 1, a refused try-lock 2, a request that has to queue one
// more (Queued), and any of them at the authority 0.
//
// # The beginning of a reign
//
// The authority of a new reign asks all others, chunk by chunk (InfoRequest, InfoAnswer).
// Holds go into a paused table as they come. When every member has reported, its own
// clients' holds follow, and all that waits queues by age, as each one's own member has
// measured it; ties go by seniority, then by request. It grants once every member that
// has joined the view meanwhile has reported, too, and the protocol's Terms allow.
// Requests that come before are dropped: the holder, which sends none before it has been
// asked, repeats them. No member is waited for by a timeout, and none left out but by a
// view. A member that is dropped before having reported may hold anything: then its time to
// be free is waited for, for all names.
//
// A holder that has heard that its whole report is known raises Confirmed; with nothing
// held, at once. A hold that is not confirmed ends at Lease.Carried, reported as lost:
// authority changed. A lapse ends all holds as lost: member lost; a waiting request is
// asked for again under the next tenure, and package session ends the clients' sessions.
//
// Holds that exclude each other are all taken into the table, and some of them revoked: the
// least set of the lowest. While more is held than fits, no client is granted the name: a
// loser's place is free when it has released it, when its session or its hold limit has
// ended, or when its tenure is free, and not before.
//
// A newcomer is asked in the same way while grants go on. Of a dropped tenure the waits go
// at once, the holds when the Terms say that they are free.
//
// # A reign that outlives its epoch
//
// In protocol grantor a reign goes on under another epoch (Rules.Outlives), but in partition
// mode any, where the protocol ends it there. Its authority keeps its table, and grants
// nothing from its promise to a candidate until it has the new view. Holders ask it to confirm
// what they hold (Revalidate), and go on; a hold that no authority has confirmed at
// Lease.Carried is revoked, and released when its client has stopped. A newcomer that cannot
// hold anything is not asked for a report.
//
// # Holding on
//
// With Rules.HoldOn a member keeps an exclusive grant that its client has released, and gives
// it to the next of its clients that asks: no message, and a token of its own, one higher each
// time. The authority has allowed that with the grant (Decided.Keep), to a request without a
// named owner or a hold limit, for a name that no request waits for. When a client asks for
// the name it tells the grant again without Keep, until that is answered: an unused grant
// comes back as a Release, with the highest token that was given (Last), and the tokens to
// come are above it; a grant that is in use comes back when it is unlocked. A request that
// does not want to wait is answered when that is known, or refused after 2T.
//
// A kept grant belongs to the member's tenure and to the reign and epoch in which it was
// given. It is lent under a lease that has not ended, as long as nothing newer was promised,
// and after that given back; a grant that is in use then is held like any other grant. No
// other member knows how far a lost one has counted: it cannot have given more than 2²⁰
// tokens under one grant, and so many are passed over. To the authority the grant is its first
// user's until it comes back, so the end of a session is reported for each of its grants apart where
// some are used by others.
//
// A client that is lent a name has asked only its member, and arrives in no queue: until it is
// asked to give way the member is the authority for that name (P5).
//
// # Handing over
//
// An authority may leave all that it has to the next one ([Machine.Relinquish],
// [Machine.Inherit]): a [Handover] has the entries of the table in order, the count of tokens,
// and every decision that was not acknowledged. Its own clients' entries get the numbers of
// requests, and become records; the heir's own become the table's. What was granted to one of
// them and not heard yet is reported at once, with the limit that the one before had given.
//
// # Closing
//
// The space's instance at one member can be closed and opened again (close.go).
//
// # Invariants
//
//   - One role decides: requests are executed by an authority that is in charge.
//   - A request acts once. A grant is taken from the authority of the newest reign, under
//     its epoch, which is none below what is promised, by the tenure that asked, for a
//     request that is wanted. Any other is void or is given back; a grant is repeated until
//     it is taken or given back, so nothing is stranded.
//   - A release and the next grant are one step. A request travels with the releases of its name
//     that are under way, and comes after them, regardless of the order in which they arrive.
//   - The holder counts from when its client asked, the authority from when it granted,
//     and longer by the drift. An extension comes by messages and therefore never
//     shortens at the authority; a holder whose shorter limit is over says so.
//     The authority before may count while the next one waits: a request that enters a grant
//     gets no more than the grant's holder did, and no limit is extended until the next one serves.
//   - Tokens are reign·2³² + count.
//   - A member speaks for its own sessions only: its id, incarnation and lapses stand in
//     the session's and the number of the request.
//
// # Bounds
//
// Records: lock.Config.LocksPerSession a session, then ErrLimit. Queues and names: the
// table's bounds. A chunk: Config.Chunk requests and 1 MiB of texts. Operators' calls:
// Config.Operators, then ErrLimit. Kept: 1024 grants a member, then the one that was used
// longest ago is given back; each is when it was not used for Rules.HoldOn. Who does not want
// to wait and has to: 1024, then they are refused. Acknowledgements: 256, then they travel.
// Releases that a request follows: 64, then the request waits for some of them.
//
// # Operators
//
// Break, Show, Scan and Inspect are answered by the authority, whichever member is
// asked. A Break is executed once. One that was sent to an authority which is none any more
// goes to the next one only after the former one has said that it has not executed it and
// never will; so an authority remembers what it has executed beyond its reign (executed.go).
// If the authority was lost meanwhile the answer is ErrUnavailable, and it may have been
// executed. Show and Scan travel in parts of
// Config.Chunk holders and waiters; a queue that changes between two parts is shown as it
// was at each.
//
// # Codes
//
// Comments here cite the holes of CENTRAL_LOCK2 as H1 to H15 (docs/design/verification.md §3), and those of a
// careless membership as V1 to V29 (docs/design/membership.md §9): V13 is a grant that the new authority does not
// know, V21 a request that comes back after its end, V22 a grant that one copy refuses and another takes.
//
// # Files
//
//	machine.go    Config, Step, calls        view.go      a view, a reign, the end of one
//	holder.go     a holder's calls           authority.go the authority's
//	repeat.go     what a holder sends        peer.go      what an authority takes and tells
//	records.go    a holder's records         gather.go    reports, as they come
//	report.go     a holder's report          adopt.go     holds that exclude each other
//	operator.go   operators' calls           condition.go how the space is
//	revoke.go     a member that leaves       close.go     a space that is closed at one
//	handover.go     what is handed over        keep.go      what a member holds on to
//	loan.go       and what its authority knows of it
//	grant_count.go who is granted how much   past.go      which requests are over
//	silence.go    who waits in vain          executed.go  a Break, and a change of authority
//	messages.go   wire.go: their bytes       limits.go    the latest end of what clients hold
package authority
