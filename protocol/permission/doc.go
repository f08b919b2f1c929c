// Package permission is mutual exclusion without a leader: a member that wants a lock asks all others, ordered by
// Lamport clocks, and holds the lock when all have given their permission. It is Ricart and Agrawala's algorithm (CACM
// 24(1), 1981) for exclusive locks, Raymond's (IPL 30(4), 1989) for a name with K entries, Raynal's (LNCS 497,
// 1991) for several units of a capacity, on membership views whose members agree.
//
// Members a and b want one name at the same time; a's request has the older stamp:
//
//	a → b, c   Request   "X", stamp 4:1.a
//	b → a, c   Request   "X", stamp 4:1.b
//	c → a, b   Reply                             c does not want the name
//	b → a      Reply                             a is before b: a holds the lock
//	a → b      Reply                             when a's client has unlocked: b holds the lock
//
// # One page
//
// Each member is a peer. It has a [lock.Table] of its own clients' requests, and of no others;
// what there is to do about those, and about people, is in package local. A request gets a
// [Stamp], (clock, member), when it arrives: clocks are Lamport's, so stamps are one order of all
// requests, and the smaller is the older. At a member the requests for a name queue; the one
// whose turn it is there asks all others (Request). A peer answers at once that it has nothing
// before it (Reply), or later, when that is so: when it holds the name itself, or wants it by an
// older stamp. A request that has all replies holds the lock. No message passes a member that is
// neither asker nor asked, and no member keeps a table for all.
//
//	exclusive         n−1 requests, n−1 replies                      2(n−1)
//	units of M        a peer that uses k says so at once (Free), and
//	                  what it gives back later                       2(n−1) … 3(n−1), where its
//	                  clients do not give back one by one
//	1 of capacity=K   enters as soon as at most K−1 have not replied;
//	                  late replies to one peer become one            2n−K−1 … 2(n−1)
//	shared            who shares replies at once                     2(n−1)
//	with defer        a peer that defers says so (Defer)             … 3(n−1)
//	with retain       a peer that has replied is asked again only
//	                  when it has asked itself since; for slots
//	                  all are asked                                  0 … 2(n−1)
//
// One rule is behind the three algorithms. A member that asks has for each peer an upper bound of
// what that one may use before it: what silence means at first, k when the peer has said so, 0
// when it has replied; and enters when all the bounds, what its own member uses, and its own
// demand are no more than the capacity. Silence means everything, because a silent peer may hold
// anything (Raynal's M; an exclusive lock is 1 of 1, where nothing lies between everything and 0:
// Ricart and Agrawala). Only in a space with Config.Capacity = K silence means 1: there every lock
// is one of K entries, and a member uses one at a time (Raymond). So K says at how many members
// something goes on at once; for a pool of which one member may take several, leave it out.
//
// # What a bound is worth
//
// An answer is about one request, by its number, and bounds what the peer may ever use before
// it: what the peer asks for later has a later stamp, because it has seen this one. So bounds
// only sink, regardless of the order in which answers arrive, and an answer to an earlier
// request says nothing about a later one: the late reply that lets a third one into two entries
// (Raymond with one counter) is no reply here, and two debts to one peer are two. A Reply says
// how many requests of the peer it settles.
//
// # Safety
//
// Of requests that hold a name at one time let Y be the one with the youngest stamp. Every
// other one, Z, has an older stamp, so Z's member has not replied to Y: either it wanted by
// Z's stamp when Y's request came, or it had not stamped Z yet, and then Z's stamp would be
// younger than Y's, or it held. A member that holds defers even to an older stamp: that
// matters where a stamp is small because its member was away. So for Y the bound of Z's member
// is at least what Z uses, and Y has counted it: together they are within the capacity.
//
// This needs that Y's view had Z's member. Views are agreed, and:
//
//   - What is asked under one view is not answered under another. With each view all that is
//     not answered is asked again, by the same stamp, and newcomers are asked too.
//   - A newcomer stamps nothing before it has the clock of every member of its view
//     (ClockRequest, ClockAnswer). Then a member that has entered without knowing of
//     it has an older stamp, and one that stamps later knows of it.
//   - No member waits for the reply of a newcomer that has asked for nothing yet: what it asks for later it
//     gets from those that are there, and they know what they hold. (With Config.Capacity one may
//     enter that has not been answered by all, so there all members wait.)
//   - A member that has left may hold until a view without it is open (protocol.View.Open).
//     Until then no member enters that has not counted it: it stays silent. That is the price
//     of a lost member: for about the lease, longer by the drift, no client gets anything new
//     in the space. One that has never been answered holds nothing, and is not waited for.
//   - A member whose place in the views has a gap (protocol.Member.Since) is a newcomer, and what
//     it held before has ended.
//
// # Tokens
//
// Clocks begin at epoch·2³² and the epoch's count, and nowhere pass 2³¹ above that: then the
// membership is asked for another epoch. An exclusive grant's token is the clock of its stamp
// or, where that is not enough, the next one above the highest token that a replier says it has
// given (Reply.Last), that this member has given, and that lost members can have given.
//
// That is strictly increasing, name by name. Let P be granted before Y, at members p and q. If p
// replied to Y after P had ended, it has said so, and Y's token is above P's. It cannot have
// replied before P was stamped: then P is younger than Y, q has not replied to P before Y had
// ended, and P was not granted before Y. And if p is gone, q has passed it: no token is more than
// 2²⁰ above what every other member is known to have seen of its giver's clock, otherwise clocks
// are exchanged before it is given; a member that sees another one go raises its clock by as
// much; and then all tell one another their clocks before any of them enters. A retained
// permission comes with the token that its giver had given.
//
// A newcomer counts among those others from when it has first asked for a member's clock. One that
// sees a member go whose clock it has not heard since it came knows no bound of that member's
// tokens: its clock goes to the end of the epoch's, so that the next token is of the next epoch.
//
// A grant in another mode gets a number above all that its member has heard of, in its member's
// slot: tokens of members with compatible grants differ in their lowest six bits, in views
// of up to 64 members. It identifies the grant, and does not order.
//
// # Order
//
// Exclusive locks are granted in the order of stamps (P5): a request waits for all that have an older stamp, and
// it is stamped when it arrives at its member, whether or not its turn to ask has come there. So a member that
// asks after another one's request was heard by every member comes after it (every member that can grant: a member
// that was left out of the view can, by permissions that it has, until the view is open), unless that one does not
// want to wait: a member that refuses it forgets it. At one member the order is that of arrival, for all modes.
// Across members a large demand for units is not starved by small ones, which wait for all that is older and
// incompatible; beyond that there is no order among units, nor among the entries of a space with Capacity.
//
// # Repeating
//
// What is not answered is asked again after T, 2T, 4T, 8T, 8T, …: a silent peer defers, or a
// message was lost. A copy is always answered, by Defer where there is no better answer, and
// the answer to a copy is the answer. So silence after it means that a message was lost, and with
// Config.Defer any silence does.
//
// A peer that has answered neither of two copies when a third is due does not hear this member, or
// is not heard by it, while the coordinator may hear both. It is reported to the membership (protocol.Unheard), which
// gives up one of the two for as long as that lasts, so that the others go on.
//
// A request that does not want to wait says so, and a peer that defers it answers at once: the
// first such answer refuses it, and names who is in the way.
//
// # Retain
//
// With Config.Retain (Roucairol and Carvalho, CACM 26(2), 1983) a permission that an exclusive
// request has got is kept when the lock is released, until its giver asks for the name: so a
// member that locks one name again and again asks no other. Of two members at most one has the
// other's, so of two requests that exclude each other one enters. Requests for slots can be
// compatible two by two, and not all together: one asks every member, and counts by stamps
// (Safety). A peer that was deferred is answered before this member's next request may enter: that
// one would pass it. At most 1024 names are remembered so, those that were used last.
//
// # The published holes, and how each is closed
//
// docs/design/verification.md §3 has E1 to E4, each in a sentence.
//
//	E1  highest = max(my last stamp, seen)     highest = max(highest, seen), and raised by own stamps
//	E2  one stamp for two requests             clocks rise with each request, and are not bounded
//	E3  a reply to a former request counts     answers name the request
//	E4  wanting and holding are one flag       held is a state, and defers regardless of the stamp
//	    Raymond with one counter               a bound for each peer and request
//	    Raynal with a flag for a debt          each request deferred is a debt of its own
//	    a crash blocks all                     views, and leases (package membership)
//	    a lost message blocks all              repeated, and answered again
//	    n = 1 waits for ever                   a member with no peer to ask enters at once
//
// # Bounds
//
// State is kept for names that this member's clients hold or want, or that others were deferred
// for, and no other. Debts: 64 a peer and name; an older one is forgotten, and comes back when its peer
// asks again. What comes early, operators' calls and clients' requests package local bounds.
//
// # What it does not do
//
// There is no member that could hold a whole space: a suspension and a transfer are
// ErrUnsupported. Partition mode any is refused: the member that merges sides that grant alone
// would have to keep them apart, and no member is in charge of that.
//
// No message goes by way of a third member: of two that do not hear each other one leaves the
// view, with what its clients hold in every space, unless fewer than a majority of the founders
// would stay. Then neither gets a lock that needs the other's permission; operators see it by
// the members that requests wait for (lock.Wait.For).
//
// # Files
//
//	permission.go  Config, Machine, Step       view.go     newcomers, who may still hold
//	messages.go    wire.go: their bytes        clock.go    stamps and tokens
//	client.go      what clients need of it     request.go  a request: asking, entering, ending
//	name.go        what is kept of a name      answer.go   what a peer is answered, and when
//	unheard.go     peers that do not answer    retain.go   permissions that are kept
//	probe.go       what simulators know of it  condition.go how it is
//	options.go     what a space can have
package permission
