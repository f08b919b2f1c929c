// Package authority implements the part shared by protocols in which one member keeps the lock table for all: the
// messages between that member and the holders, and their survival of every failure.
//
// In protocol central the authority is the view's coordinator, in protocol grantor the member that an elder has named.
// The protocol determines which member it is, and when it may act ([Reign], [Terms]); everything else is here. A
// protocol embeds a [Machine] and steps it.
//
// # Roles
//
// Every member is a holder: it acts for its own clients. One of them is also the authority: it has the [lock.Table],
// and decides.
//
//   - - A holder has a record of each request of its clients, from its arrival until nothing of it is left anywhere. It
//     answers a request Queued at once (at position −1 until the authority has reported it), and Granted or Refused
//     later. It resends a request after T, 2T, 4T, 8T, 8T, … until it is answered. It answers a Release when the
//     authority has accepted it, and a Cancel at once, because any later grant is returned.
//   - - The authority's own clients are in its table and nowhere else: two copies could only disagree, and a lock there
//     costs no message and no record. When its role ends they become records in that moment, and when a member's role
//     begins its records move into the table.
//
// # Messages
//
//	holder → authority   Acquire Release Extend Amend EndSession Query InfoAnswer Acks
//	authority → holder   Decided (granted, queued, refused, lost, revoked) Answer InfoRequest Acks
//
// Each carries the epoch, the holder's tenure, and the number of the request, which is never reused; a message that
// does not match is void. A message that is repeated until it is acknowledged has a separate number for that, so that a
// late acknowledgement cannot match another one. Acknowledgements ride on the next message, or travel by themselves,
// with others, after T/5. A remote lock is therefore 2 messages, an unlock 1, a refused try-lock 2, a request that has
// to queue one more (Queued), and any of them at the authority 0.
//
// # The beginning of a reign
//
// The authority of a new reign asks all others, chunk by chunk (InfoRequest, InfoAnswer). Holds go into a paused table
// as they arrive. When every member has reported, its own clients' holds follow, and all waiting requests queue by age,
// as measured by each one's own member; ties go by seniority, then by request. It grants once every member that has
// joined the view in the meantime has also reported, and the protocol's Terms allow. It drops earlier requests: the
// holder, which sends none before it has been asked, repeats them. No timeout ends the wait for a member; only a view
// can leave it out. A member that is dropped before having reported may hold anything: then the authority waits, for
// all names, until its holds are free.
//
// A holder whose whole report is known to the authority raises Confirmed; with nothing held, at once. An unconfirmed
// hold ends at Lease.Carried, reported as lost: authority changed. A lapse ends all holds as lost: member lost; waiting
// requests are repeated under the next tenure, and package session ends the clients' sessions.
//
// Conflicting holds are all entered in the table, and some of them revoked: the least set of the lowest. While the
// holds exceed what fits, no client is granted the name: a loser's place is free when it has released it, when its
// session or its hold limit has ended, or when its tenure is free, and not before.
//
// A newcomer is asked in the same way while grants continue. The waits of a dropped tenure end at once, its holds when
// the Terms say that they are free.
//
// # A reign that outlives its epoch
//
// In protocol grantor a reign continues under another epoch (Rules.Outlives), except in partition mode any, where the
// protocol ends it there. Its authority keeps its table, and grants nothing from its promise to a candidate until it
// has the new view. Holders ask it to confirm their holds (Revalidate), and continue; a hold that no authority has
// confirmed at Lease.Carried is revoked, and released when its client has stopped. A newcomer that cannot hold anything
// is not asked for a report.
//
// # Holding on
//
// With Rules.HoldOn a member keeps an exclusive grant that its client has released, and gives it to the next of its
// clients that requests it: without a message, and under a separate token, one higher each time. The authority has
// allowed that with the grant (Decided.Keep), for a request without a named owner or a hold limit, and a name that no
// request waits for. When a client requests the name, the authority resends the grant without Keep, until that is
// answered. An unused grant comes back as a Release, with the highest token given (Last), and later tokens are above
// it; a grant in use comes back when it is unlocked. A request that does not wait is answered when that is known, or
// refused after 2T.
//
// A kept grant belongs to the member's tenure and to the reign and epoch in which it was given. The member lends it
// while its lease lasts and it has promised nothing newer, and returns it after that; a grant in use then is held like
// any other grant. No other member knows how many tokens a lost one has given: it cannot be more than 2²⁰ under one
// grant, and the authority skips that many. For the authority the grant is its first user's until it comes back, so if
// others use some of a session's grants, the end of the session is reported separately for each.
//
// A client that is lent a name has asked only its member, and enters no queue: until the authority recalls the name,
// the member is the authority for it (P5).
//
// # Handing over
//
// An authority may pass its whole state to the next one ([Machine.Relinquish], [Machine.Inherit]): a [Handover] has the
// entries of the table in order, the count of tokens, and every unacknowledged decision. The entries of its own clients
// get request numbers, and become records; the heir's own move into the table. A grant to one of the heir's clients
// that it has not received yet is reported at once, with the limit that the previous authority had given.
//
// # Closing
//
// The space's instance at one member can be closed and reopened (close.go).
//
// # Invariants
//
//   - One role decides: requests are executed by an authority that is in charge.
//   - - A request acts once. A holder accepts a grant only from the authority of the newest reign, under its epoch, if
//     that is not below a promised one, for the tenure that sent the request, and for a request that is wanted. Any
//     other grant is void or is returned. A grant is repeated until it is accepted or returned, so nothing is stranded.
//   - - A release and the next grant are one step. A request travels with the pending releases of its name, and takes
//     effect after them, regardless of the order in which they arrive.
//   - - The holder counts from when its client sent the request, the authority from when it granted, and longer by the
//     drift. An extension comes by messages and therefore never shortens a limit at the authority; a holder whose
//     shorter limit has passed reports it. The previous authority may count while the next one waits: a request that
//     enters a grant gets no more than the grant's holder did, and no limit is extended until the next one serves.
//   - Tokens are reign·2³² + count.
//   - - A member acts only for its own sessions: its id, incarnation and lapses are part of the session's id and the
//     request's number.
//
// # Bounds
//
// Records: lock.Config.LocksPerSession per session, then ErrLimit. Queues and names: the table's limits. A chunk:
// Config.Chunk requests and 1 MiB of texts. Operators' calls: Config.Operators, then ErrLimit. Kept grants: 1024 per
// member, then the least recently used one is returned; each is returned when it was unused for Rules.HoldOn. Requests
// that do not wait but have no answer yet: 1024, then they are refused. Acknowledgements: 256, then they are sent.
// Releases that a request follows: 64, then the request waits for some of them.
//
// # Operators
//
// The authority answers Break, Show, Scan and Inspect, no matter which member receives the call. A Break is executed
// once. If a Break was sent to an authority that has lost its role, it goes to the next one only after the former one
// has reported that it has not executed it and never will; an authority therefore remembers the executed ones beyond
// its reign (executed.go). If the authority was lost in the meantime the answer is ErrUnavailable, and the Break may
// have been executed. Show and Scan travel in parts of Config.Chunk holders and waiters; a queue that changes between
// two parts is shown as it was at each.
//
// # Codes
//
// Comments here cite the holes of CENTRAL_LOCK2 as H1 to H15 (docs/design/verification.md §3), and those of a careless
// membership as V1 to V29 (docs/design/membership.md §9): V13 is a grant that the new authority does not know, V21 a
// request that returns after its end, V22 a grant that one copy refuses and another accepts.
//
// # Files
//
//	machine.go     Config, Step, calls
//	view.go        a view, a reign, the end of one
//	holder.go      a holder's calls
//	amend.go       values that holders set
//	change.go      changes that wait for a table
//	repeat.go      what a holder sends
//	records.go     a holder's records
//	report.go      a holder's report
//	authority.go   the authority's calls
//	peer.go        what an authority takes and tells
//	gather.go      reports, as they come
//	adopt.go       holds that exclude each other
//	operator.go    operators' calls
//	condition.go   how the space is
//	revoke.go      a member that leaves
//	close.go       a space that is closed at one member
//	handover.go    the state that an authority passes to the next one
//	keep.go        grants that a holder's member keeps
//	loan.go        what the authority knows of these
//	grant_count.go how many grants each member has
//	past.go        which requests are over
//	silence.go     since when it waits for others in vain
//	executed.go    a Break, and a change of authority
//	limits.go      the latest end of what clients hold
//	messages.go    wire.go: their bytes
//	probe.go       what the simulator and the explorers know of it
package authority
