// Package lock is the lock table: who holds a name, who waits, until when, with
// which token.
//
// Every protocol that has an authority shares it: central and grantor keep one
// [Table] at the coordinator or grantor, consensus replicates one. In permission, bakery and claim each
// member has a table of its own clients' requests, and the protocol has its own order (Config.Permitted,
// permit.go). It is pure: it
// does no I/O, reads no clock and starts no goroutine. Time is an argument, and
// what it decides is appended to a slice of [Decision] that the caller passes in,
// in the order in which the caller must pass it on.
//
// # Rules
//
//   - Modes: exclusive fits nothing, shared fits shared, slots fit slots of the
//     same capacity while units remain. Another mode or capacity waits (or, for
//     slots, another capacity is refused as a conflict) while the name is live.
//   - Order: one queue a name, first come first served. Only its head is ever
//     granted, so nothing is overtaken: a waiting exclusive blocks later shared
//     requests, and a large request for slots is not starved by small ones. A release
//     grants every request at the head that fits, in the same step (P4, P5).
//   - Owners: (session, owner id). A named owner that asks again for what it holds
//     enters it again, at once, under the same token; each entering is a hold of its
//     own, named by the id of its request, and the name is free when the last hold
//     is released. Without a name every request is an owner of its own. Asking for
//     the same name in another mode or for other units is a conflict, because
//     waiting for oneself never ends.
//   - Exactly once: (session, request id) names a request. Repeated while it waits
//     it is Queued again, repeated while it holds it is Granted again with the same
//     token. A cancel of a request that was granted meanwhile is a release.
//   - Tokens: reign·2³² + count. There is one count for the whole table, not one a
//     name, so a name's tokens go on rising after the name has left memory without
//     remembering any name (P2).
//   - Wait limits end the wait with a refusal; hold limits end the grant. Both are
//     counted on this clock; the table waits (1+drift) times the hold limit, so that
//     the holder's clock has ended it before.
//     A wait whose limit has passed is never granted, and a hold limit that has passed
//     is never extended, whether or not a Tick came before. A hold
//     limit belongs to the grant: the answer to a reentry says what remains of it.
//   - Revocation: a broken grant stays until its holder says that it has stopped, its
//     session ends or its hold limit passes. It cannot be entered again or extended.
//   - Succession: an authority that follows others adopts what their holders have. Sides of
//     a partition may have granted more than fits; who stays is the caller's to say
//     (Displace), and the others are adopted or made revoked. While more is held than fits
//     the name has an excess: it takes no other holder, not even one that is compatible with those
//     that stay, until enough of the revoked have ended. Slots of another capacity are
//     revoked too, and do not change that of the name while any other holder counts on it.
//   - Try: a request that does not wait for holders is granted at once or refused as
//     held. It does wait for an authority, until its wait limit; as soon as there is
//     one it is granted in its turn or refused, at any place in the queue.
//   - Suspension: a request for [SpaceLock], the name of the table itself, is granted when no other
//     owner holds or waits at a name, and while it is held no other owner is granted one. See
//     below.
//   - Authority: before the first reign, while paused, and when the reign's tokens are
//     used up, nothing is granted. Requests queue until their wait limit, then they
//     are refused as unavailable; release, reentry and limits in time go on.
//   - Bounds: names, waiters per name, holds and waits per session, each with a named
//     error (P8).
//   - Order of decisions: first what the operation ended, then who is granted because of
//     it. What ends together is decided in an order that a restored copy of the table
//     repeats, so that replicas of one table agree.
//
// A table does not know which requests have ended: a request that comes again after it
// was released, refused or lost is a new one to it. The caller that feeds the table
// keeps such stragglers away from it.
//
// # Suspension
//
// [SpaceLock] and the names are writer and readers (Apache Geode's suspendLocking and
// resumeLocking). Between a request and the queue of its name is a gate, which is closed
// while the table is suspended or a suspension waits:
//
//   - A request that holds or waits at a name has passed the gate. A new request passes it
//     at once if its owner has passed with another request, or suspends the table itself;
//     otherwise it is parked: it waits in the gate, and at its name stands behind all that
//     have passed. So a suspension waits for an end that comes: no owner needs, to give back
//     what it has, a name that it cannot ask for.
//   - Suspensions that wait and parked requests have one order, that of their arrival. The
//     first suspension is granted as soon as nothing but entries of its own owner has passed
//     (Geode's never comes while its owner holds a name) and none is held. When a suspension
//     ends and a parked request is next, all that stand before the next suspension pass, each
//     with what else its owner has parked, and compete at their names in that order.
//   - What an owner has parked before it got the suspension keeps its turn; if that is next,
//     it passes. What it asks for afterwards passes at once.
//   - Where the owner is "", a request is an owner of its own: its suspension keeps out what
//     else its session asks for.
//   - A named owner that asks again for the suspension that it has enters it again, as it
//     would any lock, and ends it as often. Geode calls that an illegal state; but a request
//     that is repeated by a client that does not know what became of it is no mistake.
//   - A Try, or a wait whose limit has passed, is not parked but refused as held, because of
//     who suspends the table or is the first that waits to. A parked request's wait limit
//     ends its wait like any other (a tryLock that Geode has parked waits for ever).
//   - Several tables may be suspended together. Then an owner may hold what the suspension waits for in another table, and be
//     parked in this one, which waits for others yet or has granted the suspension already. It can be let in nevertheless, with
//     all that it has parked (LetIn): a suspension that is granted waits again then, before all others, and gets another token.
//     So the caller that makes one suspension of several tells of it when all have granted it, and no owner is being let in.
//   - A suspension that is to end holds all others off until it has ended. Where sides of a partition have each suspended
//     the table, no request passes until one of them is left.
//
// # How it is kept
//
// A request that holds or waits is an entry (entry.go). Entries, live names, sessions and what only some of them need are
// records in slabs, which never move, name one another by number and are used again when freed. The entries of a name and
// those of a session are in rings; a name with many entries has an index (index.go), and numbers its waiters so that it can
// tell positions (tickets.go). Limits in time are in one heap (deadline.go). Names that stay are kept sorted, for listings
// (order.go). The records of the names that were freed last are kept for requests that take these names again (recent_names.go).
// A name with an excess is marked, and only there its holders are walked when one of them ends (excess.go). What the gate
// needs is there while it is closed, and no longer (gate.go); when a suspension begins and ends is in suspension.go; which owners have passed it goes by the entries that there are
// and the set of those that are parked, so that nothing can be counted down twice (permission.go). A caller that suspends
// several tables lets owners in (admit.go).
//
// # Cost
//
// Every operation on a name costs the same for any number of locks (an operation with a limit in time
// adds the logarithm of the number of such limits). A held exclusive lock takes at most 150 bytes of
// heap beyond its name. A name that is live while some hundred others come is sorted in, and out again
// when it is forgotten; that looks at the logarithm of the number of names.
//
// A page of a listing costs its length, however many names there are.
//
// Suspensions cost nothing while there are none. While there is one an operation does a few
// look-ups more, and a parked request takes some hundred bytes more. The end of a suspension
// costs as much as the requests that it lets through. The first request of a session for a
// named owner, after the gate was closed, counts what that session has.
package lock
