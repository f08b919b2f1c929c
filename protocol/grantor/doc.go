// Package grantor is a lock manager that moves to where the locks are used: an elder, the coordinator of the
// membership view, names one member the grantor of a space, and the grantor keeps the lock table until it hands the table over
// to another member. It is Apache Geode's distributed lock service, whole, with the parts that its published design
// describes and its code never had, and with its holes closed.
//
// Member b takes the first lock of a space, then c takes one; a is the elder:
//
//	b → a   Question   who is the grantor?
//	a → b   Info       you are                   b grants its own locks from now on, without a message
//	c → a   Question   who is the grantor?
//	a → c   Info       b, since version 4.1
//	c → b   Acquire    "X", request 1            then Decided, Release and Acks, as in protocol central
//
// # One page
//
// The view's coordinator, which is normally its first member, is the elder. It knows which
// member grants in the space, and nothing about locks. The member that wants a lock first asks
// the elder (GET) and is named grantor itself; one that asks later learns which one that is.
// The grantor keeps the lock table: what a holder and it say to each other is package
// [authority]. A member that locks most can become the grantor (BECOME): the elder names it,
// has the one before stop (Depose), and says who that was; and that one hands over its table.
// No other member hears of it. A member that asks the old grantor hears which one is the new one.
//
//	first use          member → elder GET, elder → member Info            2, at the elder 0
//	lock, unlock       at the grantor 0; elsewhere 2 and 1, and an acknowledgement that rides along
//	become             BECOME, Depose, Deposed, Info, TransferRequest, TransferTable: 6,
//	                   for any number of members; 2 for each further chunk of the table
//	a chain of k       2 more for each hop
//	stale grantor      the refusal says who grants now: 2 with the question
//
// A reign is a grantor's term. Its [authority.Version] is (the view's epoch, number). An epoch
// has one coordinator, hence one elder: versions never restart, regardless of which member is
// elder (H3). Unlike a coordinator's, a grantor's reign outlives epochs: an elder's or a
// coordinator's crash does not touch it. It ends with the grantor's tenure, or by a Depose;
// and in partition mode any with its epoch.
//
// # Roles
//
//   - Every member is a holder, and knows a grantor, or none. With something to say and no
//     grantor known it asks the elder, one question at a time (seek.go).
//   - The elder has one entry for the space: who was named last, under which version, how
//     its reign began, and whether it is being deposed (elder.go). GET, BECOME and PEEK wait
//     while a Depose is not acknowledged.
//   - A new elder asks all members who grants ([Inquiry]; ElderInit in Geode), once, when it is asked something
//     first. A space without a grantor that is here is taken for one whose grantor has
//     crashed. The first member ever knows that there is nothing to ask, however many have
//     joined since. What an elder knows it goes on knowing under later epochs of its own.
//   - A grantor begins in one of three ways (Beginning): settled, no member has
//     anything; recovering, every member is asked what it holds and waits for; or
//     inheriting, by the table of the one before. Until then requests that come are
//     parked, up to a bound.
//
// # Transfer
//
// A successor is a member that has been named and has not the table yet. It asks its
// predecessor for the table, chunk by chunk. A grantor that was deposed answers no other
// member any more; it keeps the table until the successor has asked for its last chunk and is
// heard of, the successor has left, or the elder that deposed it leaves before the successor has asked.
//
// A successor that is deposed itself, while it waits, will never serve: it remembers the younger
// one and passes the table through, as it came. A successor whose predecessor is gone, or has no
// table, recovers from all members, unless it is deposed: one that is deposed never recovers,
// and tells the younger one that there is no table.
//
// The table has who holds, who waits in which order, a suspension and what waits for it, the
// count of tokens, and every decision that a holder has not acknowledged yet. So who holds or
// waits need not know of the change.
//
// # Leaving
//
// Where the space's instance at a member is closed ([protocol.CloseSpace]) its clients are
// notified to stop, and it is closed when every request of theirs, regardless of what had become
// of it, has been ended and that was acknowledged; a grant that comes late is given back.
// So a space that is opened again at once meets nothing of the one before. A grantor then
// asks the member that has most in the table, ties by seniority, to succeed it, and goes on
// granting until that one is named. A refusal or the candidate's leaving goes to the next
// best; and when there is none it tells the elder that locks are left behind, so that the
// next grantor recovers. With nothing of any other member's in the table it tells the elder
// just that. Either word says how far the reign has counted, and from then on nothing is
// granted in it.
//
// A grantor that is about to leave the view ([protocol.StepDown]) does the same at once,
// regardless of what its own clients hold: it asks each candidate for four times the
// patience, and no member makes it the grantor any more. An elder that leaves hands over an
// empty table too, from which the next elder learns that nothing was lost. A table that is
// not handed over in time, or is taken by no member, is recovered as after a crash.
//
// # Placement
//
// With Options.Placement grantorship moves by itself to the member that locks most. The
// grantor counts the grants that it gives, by member, in windows that follow each other from
// the beginning of its reign. What that is worth is counted in messages:
//
//	use      a lock and its unlock take 3 messages elsewhere, and 0 at the grantor. So with n
//	         grants to each in a window a grantor g costs 3·Σ n(i) over all others, and with b
//	         in its place a window takes 3·(n(b) − n(g)) less
//	price    a move takes 8: Invite, Invited, and the 6 of becoming; 2 more for each further
//	         part of the table, and 2 for each other member that uses it and asks the grantor
//	         before once. And there is a gap, of 6 messages one after the other
//
// It moves to b when in each of two windows running n(b) was at least twice n(g), and what a
// window saves at least 4 times the price; of several to the one that locked most in the
// second. So it pays for itself within a quarter of a window, and a load that has been there
// for two will as a rule last for more; one that locks seldom never moves anything, and a
// large table moves only for a load that is large in proportion.
//
// It does not go back and forth. Of two members that lock equally often neither locks twice
// as often as the other; what made it move has to turn into its opposite to move it back. And
// a reign that began with a table handed over, by itself or by an operator, or was to and had
// to recover because the table was lost, lasts for 6 windows: when loads come and go it moves
// once in 6 windows at the most. A reign that began in another way has no such rest: the
// member that happened to be named first is not the one that the load calls for.
//
// It moves by an Invite, as an operator's transfer does (operator.go); the one that is invited
// becomes the grantor as it would for an operator. One that refuses, because the space is
// closed there or another was named, or is not heard, is left alone for a whole window. A
// member that is not in the view is not counted, and a place in it that is new begins with
// nothing. Waits, refused tries and what is lent by a member that holds on take other numbers
// of messages, or none; they are not counted. No member wakes up for a window in which nothing
// is granted, and one such window between two ends their row.
//
// # Holding on
//
// With Config.HoldOn a member keeps an exclusive grant that its clients do not use, and lends
// it to the next of them, until the grantor asks it to give way: locking one name again and
// again costs a remote member no message. Package [authority] says how, and why that is safe.
//
// # Doubt
//
// No holder hears of a transfer, and one whose clients only wait asks nothing. When a member
// leaves the view it may have been the one for which the grantor had made way. So such a holder
// asks the grantor that it follows whether that still decides ([authority.Revalidate]), until the
// grantor says so ([authority.Acks]) under that view or a later one. A grantor that has not got that view answers
// when it has; and one that hears only then that it is deposed, for the member that has left,
// asks the elder which member grants, and recovers.
//
// # Tokens
//
// Tokens are reign·2³² + count, where the reign is an epoch's counter that the elder has
// given to the grantor. A table that is inherited goes on counting, and so does a grantor
// that follows a reign that was given back. Any other beginning needs an epoch in which no
// reign of this space has counted: no member knows what a lost grantor gave. Where the
// present one is spent the elder asks the membership for another epoch, under the same view.
//
// # Safety
//
// Only a table that knows of all holds grants. An inherited one does. A recovered one does
// when every member of a view has reported and that view is open: no member outside it can
// hold anything any more. A holder takes a grant only from the grantor it follows, of the
// newest version that it has heard of, and it follows that one before it reports to it: so
// all that an older one has granted is in the report, or void. Versions only rise.
//
// A message of an epoch before makes no grantor known: an elder of that epoch may have named it under a view that was never
// installed, and the elder of this one know of none such. A report stays as it is until the grantor has said that it
// knows it, and of a second one under the same reign each request is sent again: the grantor may have taken a late copy of the first.
//
// A continuing reign under a new epoch confirms its holders' holds ([authority.Revalidate]), so that
// what they hold is renewed with their leases. A hold that no authority has confirmed is not
// (docs/design/membership.md §9, V13).
//
// In partition mode any a reign ends with its epoch, as a coordinator's does. Another epoch may
// have joined sides that went on alone, and gives places to members of sides of lower epochs:
// they hold what no table has, and have heard of tokens and versions up to there. So the next
// grantor recovers, regardless of which member it is; of those that exclude each other all but
// one must stop (duplicate); and no reign is settled, but under a cluster's first view. A member
// that joins the view of a reign that goes on is asked for a report, and so is every member by
// the one that inherits it.
//
// A role belongs to a place in the views: a member under a tenure, without a gap
// (protocol.Member.Since). One that was left out, and is back, has to be named anew: others
// may have been named meanwhile, and may be gone again.
//
// # The original's holes, and how each is closed
//
// docs/design/verification.md §3 has H1 to H10 of Geode, each in a sentence.
//
//	H1  duplicate leases in recovery: the first     all are taken into the table, and those that must go hear it: authority
//	    reply wins, the loser does not hear of it    changed (in mode any: duplicate)
//	H2  a cancelled wait sends no cancel             a Cancel is a Release, repeated until it is acknowledged; a grant that
//	                                                 crosses it is given back
//	H3  versions restart at 1                        (epoch, number): never
//	H4  who holds A and waits to suspend waits for   one's own entries never hold back one's own suspension (package lock)
//	    himself
//	H5  no fencing token                             reign·2³² + count; and leases end what a lost member holds
//	H6  one who is silent is waited for for ever     a silent member is dropped by a view; where two do not hear each other
//	                                                 that the coordinator hears, the elder takes over (relief.go)
//	H7  an unlock blocks while no elder is there     the hold ends at once; its release is repeated
//	H8  a request that comes twice queues twice      wishes have numbers that are never used again
//	H9  a permission is given back twice             a permission is an entry of the table, and nothing is counted
//	H10 a try-lock parked by a suspension never      it is refused at once, by the suspender's name
//	    times out
//	GEODE-10250 a request of one who is leaving is   a member that is not in the view is answered nothing, and its waits go
//	    granted after its departure was seen         with its tenure
//
// # Differences from what was published
//
//   - The elder is the coordinator, not the member that is first in the view, because it alone is sure to hear every
//     member. They differ only after an election that the first one missed.
//   - NOT_GRANTOR says who grants instead, as far as is known: a stale holder needs no PEEK
//     and no GET.
//   - Owners are (session, owner id), not threads; leases are hold limits, and counted by
//     each on its own clock.
//   - Closing a space tells its holders to stop and waits for that; Geode's destroy lets
//     locks vanish under them.
//   - A suspension is a lock of the whole table: it has a token, an owner, limits, and is
//     lost and reported like one.
package grantor
