// Package permission implements mutual exclusion without a leader: a member that wants a lock asks all others, ordered
// by Lamport clocks, and holds the lock when all have given their permission. It combines Ricart and Agrawala's
// algorithm (CACM 24(1), 1981) for exclusive locks, Raymond's (IPL 30(4), 1989) for a name with K entries, and Raynal's
// (LNCS 497, 1991) for several units of a capacity, on membership views whose members agree.
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
// Each member is a peer. It has a [lock.Table] of its own clients' requests, and of no others; package local handles
// those requests and operators' calls. A request gets a [Stamp], (clock, member), when it arrives: clocks are
// Lamport's, so stamps are one order of all requests, and the smaller is the older. At a member the requests for a name
// queue; the one whose turn it is asks all others (Request). A peer answers at once that it has nothing before it
// (Reply), or later, when that is so: when it holds the name itself, or wants it by an older stamp. A request that has
// all replies holds the lock. No message passes through a third member, and no member keeps a table for all.
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
// One rule is behind the three algorithms. A member that asks has for each peer an upper bound of the units that this
// peer may use before it: everything while the peer is silent, k when the peer has reported k, 0 when it has replied.
// It enters when the sum of the bounds, its own member's use and its own demand is no more than the capacity. Silence
// means everything, because a silent peer may hold anything (Raynal's M; an exclusive lock is 1 of 1, where nothing
// lies between everything and 0: Ricart and Agrawala). Only in a space with Config.Capacity = K silence means 1: there
// every lock is one of K entries, and a member uses one at a time (Raymond). K therefore limits the number of members
// that are active at once; for a pool of which one member may take several, leave it out.
//
// # What a bound is worth
//
// An answer is about one request, by its number, and bounds what the peer may ever use before it: a later request of
// the peer has a later stamp, because the peer has seen this one. Bounds therefore only sink, regardless of the order
// in which answers arrive, and an answer to an earlier request says nothing about a later one. The late reply that lets
// a third member into two entries (Raymond with one counter) is no reply here, and two debts to one peer are two. A
// Reply carries the number of the peer's requests that it settles.
//
// # Safety
//
// Of the requests that hold a name at the same time let Y be the one with the youngest stamp. Every other one, Z, has
// an older stamp, so Z's member has not replied to Y: either it wanted the name by Z's stamp when Y's request arrived,
// or it had not stamped Z yet, and then Z's stamp would be younger than Y's, or it held. A member that holds defers
// even to an older stamp: that matters if a stamp is small because its member was away. So for Y the bound of Z's
// member is at least Z's use, and Y has counted it: together they are within the capacity.
//
// This needs that Y's view had Z's member. Views are agreed, and:
//
//   - - A request sent under one view is not answered under another. With each view all unanswered requests are sent
//     again, by the same stamp, also to newcomers.
//   - - A newcomer stamps nothing before it has the clock of every member of its view (ClockRequest, ClockAnswer). Then
//     a member that has entered without knowing of it has an older stamp, and one that stamps later knows of it.
//   - - No member waits for the reply of a newcomer that has requested nothing yet: the newcomer's later requests need
//     the permission of the present members, and they know what they hold. (With Config.Capacity a member may enter
//     that has not been answered by all, so there all members wait.)
//   - - A member that has left may hold until a view without it is open (protocol.View.Open). Until then no member
//     enters that has not counted it: it stays silent. That is the price of a lost member: for about the lease, longer
//     by the drift, no client gets anything new in the space. A member that has never been answered holds nothing, and
//     is not waited for.
//   - - A member whose place in the views has a gap (protocol.Member.Since) is a newcomer, and its earlier holds have
//     ended.
//
// # Tokens
//
// Clocks begin at epoch·2³² plus the epoch's count, and never exceed 2³¹ above that: then the membership is asked for
// another epoch. An exclusive grant's token is the clock of its stamp. If that is not enough, it is the next one above
// the highest token that a replier reports (Reply.Last), that this member has given, or that lost members can have
// given.
//
// Tokens are strictly increasing for each name. Let P be granted before Y, at members p and q. If p replied to Y after
// P had ended, it has reported P's token, and Y's is above it. It cannot have replied before P was stamped: then P is
// younger than Y, q has not replied to P before Y had ended, and P was not granted before Y. And if p is gone, q has
// passed it: no token is more than 2²⁰ above the value of its giver's clock that every other member is known to have
// seen; otherwise clocks are exchanged before it is given. A member that sees another one leave raises its clock by as
// much; and then all exchange their clocks before any of them enters. A retained permission comes with the token that
// its giver had given.
//
// A newcomer counts among those others from when it has first asked for a member's clock. If a member leaves whose
// clock this member has not heard since it arrived, there is no known bound of its tokens: this member's clock then
// goes to the end of the epoch's range, so that the next token is of the next epoch.
//
// A grant in another mode gets a number above all that its member knows, in its member's slot: tokens of members with
// compatible grants differ in their lowest six bits, in views of up to 64 members. It identifies the grant, and does
// not order.
//
// # Order
//
// Exclusive locks are granted in the order of stamps (P5): a request waits for all that have an older stamp, and it is
// stamped when it arrives at its member, whether or not its turn to ask has come there. A member that asks after every
// member has received another one's request comes after it. (This includes every member that can grant: a member that
// was left out of the view can, with its permissions, until the view is open.) The exception is a request that does not
// wait: a member that refuses it forgets it. At one member the order is that of arrival, for all modes. Across members
// a large demand for units is not starved by small ones, which wait for all that is older and incompatible; beyond that
// there is no order among units, nor among the entries of a space with Capacity.
//
// # Repeating
//
// An unanswered request is repeated after T, 2T, 4T, 8T, 8T, …: a silent peer defers, or a message was lost. A copy is
// always answered, by Defer if there is no better answer, and the answer to a copy counts. Silence after it therefore
// means that a message was lost, and with Config.Defer any silence does.
//
// A peer that has answered neither of two copies when a third is due does not hear this member, or is not heard by it,
// while the coordinator may hear both. It is reported to the membership (protocol.Unheard), which gives up one of the
// two for as long as that lasts, so that the others can continue.
//
// A request that does not wait is marked as such, and a peer that defers it answers at once: the first such answer
// refuses it, and names the holder.
//
// # Retain
//
// With Config.Retain (Roucairol and Carvalho, CACM 26(2), 1983) the permissions of an exclusive request are kept when
// the lock is released, until their givers want the name: a member that repeatedly locks one name asks no other. Of two
// members at most one has the other's permission, so of two conflicting requests one enters. Requests for slots can be
// compatible in pairs, and not all together: each asks every member, and counts by stamps (Safety). A deferred peer is
// answered before this member's next request may enter: that one would overtake it. At most 1024 names are kept, the
// most recently used.
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
// State is kept only for names that this member's clients hold or want, or for which others were deferred. Debts: 64
// per peer and name; an older one is forgotten, and restored when its peer asks again. Package local limits early
// messages, operators' calls and clients' requests.
//
// # What it does not do
//
// No member could hold a whole space: a suspension and a transfer are ErrUnsupported. Partition mode any is refused:
// the member that merges sides that grant alone would have to keep them apart, and no member is in charge of that.
//
// No message goes through a third member: of two that do not hear each other one leaves the view, with its clients'
// holds in every space, unless fewer than a majority of the founders would stay. Then neither gets a lock that needs
// the other's permission; operators see it in the members that requests wait for (lock.Wait.For).
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
