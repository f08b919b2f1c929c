// Package lock implements the lock table: who holds a name, who waits, until when, and with which token.
//
// Every protocol that has an authority shares it: central and grantor keep one [Table] at the coordinator or grantor,
// consensus replicates one. In permission, bakery and claim each member has a table of its own clients' requests, and
// the protocol determines the order (Config.Permitted, permit.go). The package is pure: it does no I/O, reads no clock
// and starts no goroutine. Time is an argument, and decisions are appended to the caller's slice of [Decision], in the
// order in which the caller must pass them on.
//
// # Rules
//
//   - Modes: exclusive fits nothing, shared fits shared, slots fit slots of the
//     same capacity while units remain. Another mode or capacity waits (or, for
//     slots, another capacity is refused as a conflict) while the name is live.
//   - - Order: one queue per name, first come first served. Only its head is ever granted, so nothing is overtaken: a
//     waiting exclusive blocks later shared requests, and small requests for slots do not starve a large one. A release
//     grants every request at the head that fits, in the same step (P4, P5).
//   - - Owners: (session, owner id). A named owner that requests a name it holds reenters it, at once, under the same
//     token; each reentry is a separate hold, identified by its request id, and the name is free when the last hold is
//     released. Without a name every request is a separate owner. Requesting the same name in another mode or with
//     other units is a conflict, because the owner would wait for itself forever.
//   - - Exactly once: (session, request id) identifies a request. Repeated while it waits it is Queued again, repeated
//     while it holds it is Granted again with the same token. A cancel of a request that was granted in the meantime is
//     a release.
//   - - Tokens: reign·2³² + count. There is one count for the whole table rather than one per name, so a name's tokens
//     continue to rise after the name has left memory, without any record of it (P2).
//   - - Wait limits end the wait with a refusal; hold limits end the grant. Both count on this clock; the table waits
//     (1+drift) times the hold limit, so that the holder's clock has ended it first. A wait whose limit has passed is
//     never granted, and a hold limit that has passed is never extended, whether or not a Tick came in between. A hold
//     limit belongs to the grant: the answer to a reentry has the remaining time.
//   - - Values: a grant has the value of its request until its holder amends it; a reentry does not change it. Amendments
//     have revisions, and one whose revision is not above the latest has no effect: it was overtaken.
//   - - Revocation: a broken grant stays until its holder confirms that it has stopped, its session ends or its hold
//     limit passes. It cannot be reentered or extended.
//   - - Succession: an authority that follows others adopts the holders' grants. Sides of a partition may have granted
//     more than fits; the caller decides which ones stay (Displace), and the others are adopted as revoked or become
//     revoked. While the holds exceed what fits, the name has an excess: it accepts no other holder, not even one that
//     is compatible with those that stay, until enough of the revoked have ended. Slots of another capacity are also
//     revoked, and do not change the name's capacity while any other holder depends on it.
//   - - Try: a request that does not wait for holders is granted at once or refused as held. It does wait for an
//     authority, until its wait limit; as soon as there is one it is granted in its turn or refused, at any place in
//     the queue.
//   - - Deadlock: a request with holdfast.Fail is refused if its wait would close a cycle of waits in this table. If a later
//     request closes one through it, it is refused then, and the later one waits.
//   - - Suspension: a request for [SpaceLock], the name of the table itself, is granted when no other owner holds or
//     waits at a name, and while it is held no other owner is granted one. See below.
//   - - Authority: before the first reign, while paused, and when the reign's tokens are used up, nothing is granted.
//     Requests queue until their wait limit, then they are refused as unavailable; release, reentry and time limits
//     continue to work.
//   - - Limits: names, waiters per name, holds and waits per session, each with a named error (P8).
//   - - Order of decisions: first the ends that the operation causes, then the resulting grants. Simultaneous ends are
//     decided in an order that a restored copy of the table repeats, so that replicas of one table agree.
//
// A table does not know which requests have ended: to it, a request that returns after it was released, refused or lost
// is a new one. The caller must filter out such stragglers.
//
// # Suspension
//
// [SpaceLock] and the names are writer and readers (Apache Geode's suspendLocking and resumeLocking). A gate lies
// between a request and the queue of its name. It is closed while the table is suspended or a suspension waits:
//
//   - - A request that holds or waits at a name has passed the gate. A new request passes it at once if its owner has
//     passed with another request, or suspends the table itself; otherwise it is parked: it waits in the gate, and at
//     its name it is behind all that have passed. A suspension therefore waits for an end that comes: to release its
//     locks, no owner needs a name that it cannot request.
//   - - Waiting suspensions and parked requests are ordered by arrival. The first suspension is granted as soon as only
//     entries of its own owner have passed (Geode's never comes while its owner holds a name) and none is held. When a
//     suspension ends and a parked request is next, all requests before the next suspension pass, each with its owner's
//     other parked requests, and compete at their names in that order.
//   - - Requests that an owner has parked before it got the suspension keep their turn; if they are next, they pass.
//     Its later requests pass at once.
//   - - If the owner is "", a request is a separate owner: its suspension excludes the other requests of its session.
//   - - A named owner that requests its suspension again reenters it, as it would any lock, and must end it as often.
//     Geode treats that as an illegal state; but a repetition by a client that does not know its request's outcome is
//     not a mistake.
//   - - A Try, or a wait whose limit has passed, is not parked but refused as held, with the owner that suspends the
//     table or is the first waiting to. A parked request's wait limit ends its wait like any other (a parked tryLock in
//     Geode waits forever).
//   - - Several tables may be suspended together. An owner may then hold a name that the suspension waits for in
//     another table, and be parked in this one, which still waits for others or has already granted the suspension. It
//     can still be let in, with all its parked requests (LetIn): a granted suspension then waits again, before all
//     others, and gets another token. A caller that combines several suspensions into one therefore reports it when all
//     have granted it, and no owner is being let in.
//   - - A suspension that is to end blocks all others until it has ended. If sides of a partition have each suspended
//     the table, no request passes until only one of them is left.
//
// # How it is kept
//
// A request that holds or waits is an entry (entry.go). Entries, live names, sessions and optional details are records
// in slabs, which never move, refer to one another by number and are reused when freed. The entries of a name and those
// of a session are in rings; a name with many entries has an index (index.go), and numbers its waiters so that it can
// compute positions (tickets.go). Time limits are in one heap (deadline.go). Names that stay are kept sorted, for
// listings (order.go). The records of the most recently freed names are kept for requests that take these names again
// (recent_names.go). A name with an excess is marked, and only such a name's holders are walked when one of them ends
// (excess.go). The gate's state exists only while it is closed (gate.go); suspension.go has the begin and end of a
// suspension. Which owners have passed follows from the existing entries and the set of parked ones, so that nothing
// can be subtracted twice (permission.go). Cycles of waits are searched from the wait that may close one (cycle.go). A
// caller that suspends several tables lets owners in (admit.go).
//
// # Cost
//
// Every operation on a name costs the same for any number of locks (an operation with a time limit adds the logarithm
// of the number of such limits). A held exclusive lock takes at most 150 bytes of heap in addition to its name. A name
// that is still live after some hundred others arrive is sorted in, and sorted out again when it is forgotten; that
// costs the logarithm of the number of names.
//
// The cost of a page of a listing depends on its length, not on the number of names.
//
// Cycles cost nothing while no request with holdfast.Fail waits. With one, a new wait costs a search if its session has
// anything else here: each owner that it leads to, with its session's entries, and each of their queues, is visited once
// or, where modes are mixed, a few times.
//
// Suspensions cost nothing while there are none. While there is one an operation needs a few more look-ups, and a
// parked request takes some hundred bytes more. The end of a suspension costs as much as the requests that it lets
// through. The first request of a session for a named owner, after the gate was closed, counts that session's entries.
package lock
