// Package grantor implements a lock manager that moves to where the locks are used: an elder, the coordinator of the
// membership view, names one member the grantor of a space, and the grantor keeps the lock table until it hands the
// table over to another member. It is all of Apache Geode's distributed lock service, including the parts that its
// published design describes and its code never had, with its holes closed.
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
// The view's coordinator, which is normally its first member, is the elder. It knows which member grants in the space,
// and nothing about locks. The first member that wants a lock asks the elder (GET) and is named grantor itself; a later
// one learns which member is. The grantor keeps the lock table; package [authority] has the messages between it and the
// holders. A member that locks most can become the grantor (BECOME): the elder names it, stops the previous one
// (Depose), and reports which one that was; the previous one then hands over its table. No other member is informed. A
// member that asks the old grantor learns which one is the new one.
//
//	first use          member → elder GET, elder → member Info            2, at the elder 0
//	lock, unlock       at the grantor 0; elsewhere 2 and 1, and an acknowledgement that rides along
//	become             BECOME, Depose, Deposed, Info, TransferRequest, TransferTable: 6,
//	                   for any number of members; 2 for each further chunk of the table
//	a chain of k       2 more for each hop
//	stale grantor      the refusal says who grants now: 2 with the question
//
// A reign is a grantor's term. Its [authority.Version] is (the view's epoch, number). An epoch has one coordinator,
// hence one elder: versions never restart, regardless of which member is elder (H3). Unlike a coordinator's, a
// grantor's reign outlives epochs: an elder's or a coordinator's crash does not affect it. It ends with the grantor's
// tenure, or by a Depose; and in partition mode any with its epoch.
//
// # Roles
//
//   - - Every member is a holder, and knows a grantor, or none. If it has a request and knows no grantor it asks the
//     elder, one question at a time (seek.go).
//   - - The elder has one entry for the space: the last named grantor, its version, how its reign began, and whether it
//     is being deposed (elder.go). GET, BECOME and PEEK wait while a Depose is not acknowledged.
//   - - A new elder asks all members which one grants ([Inquiry]; ElderInit in Geode), once, at the first question. If
//     no present member is the grantor, the elder assumes that the grantor has crashed. The first member ever knows
//     that there is nothing to ask, however many have joined since. An elder keeps its knowledge under later epochs of
//     its own.
//   - - A grantor begins in one of three ways (Beginning): settled, no member has anything; recovering, every member is
//     asked for its holds and waits; or inheriting, from the previous grantor's table. Until then incoming requests are
//     parked, up to a limit.
//
// # Transfer
//
// A successor is a member that has been named and does not have the table yet. It asks its predecessor for the table,
// chunk by chunk. A deposed grantor answers no other member any more. It keeps the table until the successor has asked
// for its last chunk and has been heard from, the successor has left, or the elder that deposed it leaves before the
// successor has asked.
//
// A successor that is itself deposed while it waits will never serve: it remembers the younger one and passes the table
// through unchanged. A successor whose predecessor is gone, or has no table, recovers from all members. A deposed one
// never recovers, and informs the younger one that there is no table.
//
// The table has the holders, the waiters in order, a suspension and its waiters, the count of tokens, and every
// decision that a holder has not acknowledged yet. Holders and waiters therefore need not know of the change.
//
// # Leaving
//
// If the space's instance at a member is closed ([protocol.CloseSpace]) its clients are notified to stop, and it is
// closed when every request of theirs, regardless of its state, has been ended and that was acknowledged; a grant that
// comes late is returned. A space that is reopened at once therefore meets nothing of the previous instance. A grantor
// then asks the member that has most in the table, ties by seniority, to succeed it, and continues to grant until that
// one is named. If the candidate refuses or leaves, it asks the next best; and if there is none it informs the elder
// that locks are left behind, so that the next grantor recovers. If the table has nothing of any other member, it
// informs the elder of that. Either message reports how far the reign has counted, and from then on the reign grants
// nothing.
//
// A grantor that is about to leave the view ([protocol.StepDown]) does the same at once, regardless of its own clients'
// holds: it asks each candidate for four times the patience, and no member makes it the grantor any more. An elder that
// leaves also hands over an empty table, from which the next elder learns that nothing was lost. A table that is not
// handed over in time, or that no member accepts, is recovered as after a crash.
//
// # Placement
//
// With Options.Placement grantorship moves automatically to the member that locks most. The grantor counts its grants,
// by member, in consecutive windows from the beginning of its reign. Benefit and cost are counted in messages:
//
//	use      a lock and its unlock take 3 messages elsewhere, and 0 at the grantor. So with n
//	         grants to each in a window a grantor g costs 3·Σ n(i) over all others, and with b
//	         in its place a window takes 3·(n(b) − n(g)) less
//	price    a move takes 8: Invite, Invited, and the 6 of becoming; 2 more for each further
//	         part of the table, and 2 for each other member that uses it and asks the grantor
//	         before once. And there is a gap, of 6 messages one after the other
//
// It moves to b when in each of two consecutive windows n(b) was at least twice n(g), and the saving of a window at
// least 4 times the price; if several members qualify, to the one that locked most in the second. A move thus pays for
// itself within a quarter of a window, and a load that has lasted for two windows usually lasts for more; a member that
// locks seldom never causes a move, and a large table moves only for a proportionally large load.
//
// It does not move back and forth. Of two members that lock equally often neither locks twice as often as the other;
// only the opposite load moves it back. A reign that began with a handover of the table, automatic or by an operator,
// or with a recovery because that table was lost, lasts for at least 6 windows: under a changing load it moves at most
// once in 6 windows. A reign that began in another way has no such minimum: the member that happened to be named first
// is not the one that the load calls for.
//
// It moves by an Invite, like an operator's transfer (operator.go); the invited member becomes the grantor as it would
// for an operator. A member that refuses, because the space is closed there or another was named, or that is not heard,
// is left alone for a whole window. A member that is not in the view is not counted, and a new place in it starts from
// zero. Waits, refused tries and locks lent by a member that holds on cost other numbers of messages, or none; they are
// not counted. A window without grants wakes no member, and one such window between two breaks their sequence.
//
// # Holding on
//
// With Config.HoldOn a member keeps an exclusive grant that its clients do not use, and lends it to the next of them,
// until the grantor recalls it: repeated locks of one name cost a remote member no message. Package [authority]
// describes how, and why that is safe.
//
// # Doubt
//
// No holder is informed of a transfer, and one whose clients only wait asks nothing. A member that leaves the view may
// have been the one for which the grantor had made way. Such a holder therefore asks the grantor that it follows
// whether that one still decides ([authority.Revalidate]), until the grantor confirms it ([authority.Acks]) under that
// view or a later one. A grantor that does not have that view yet answers when it has. A grantor that learns only then
// that it is deposed, in favour of the member that has left, asks the elder which member grants, and recovers.
//
// # Tokens
//
// Tokens are reign·2³² + count, where the reign is an epoch's counter that the elder has given to the grantor. An
// inherited table continues its count, and so does a grantor that follows a returned reign. Any other beginning needs
// an epoch in which no reign of this space has counted: no member knows which tokens a lost grantor gave. If the
// current epoch is used up the elder asks the membership for another one, under the same view.
//
// # Safety
//
// Only a table that knows of all holds grants. An inherited one does. A recovered one does when every member of a view
// has reported and that view is open: no member outside it can hold anything any more. A holder accepts a grant only
// from the grantor it follows, of the newest version that it knows, and it follows that one before it reports to it:
// any grant of an older one is in the report, or void. Versions only rise.
//
// A message of an earlier epoch makes no grantor known: an elder of that epoch may have named it under a view that was
// never installed, and this epoch's elder may not know of it. A report stays unchanged until the grantor has confirmed
// that it knows it; each request of a second report under the same reign is sent again, because the grantor may have
// received a late copy of the first.
//
// A continuing reign under a new epoch confirms its holders' holds ([authority.Revalidate]), so that they are renewed
// with the holders' leases. A hold that no authority has confirmed is not renewed (docs/design/membership.md §9, V13).
//
// In partition mode any a reign ends with its epoch, as a coordinator's does. Another epoch may have joined sides that
// continued alone, and gives places to members of sides of lower epochs: they have holds that no table has, and know
// tokens and versions up to there. The next grantor therefore recovers, regardless of which member it is; of
// conflicting holders all but one must stop (duplicate); and no reign is settled, except under a cluster's first view.
// A member that joins the view of a continuing reign is asked for a report, and so is every member by the one that
// inherits it.
//
// A role belongs to a place in the views: a member under a tenure, without a gap (protocol.Member.Since). A member that
// was left out, and is back, has to be named again: others may have been named in the meantime, and may be gone again.
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
//   - - NOT_GRANTOR names the current grantor, as far as is known: a stale holder needs no PEEK and no GET.
//   - Owners are (session, owner id), not threads; leases are hold limits, and counted by
//     each on its own clock.
//   - - Closing a space notifies its holders to stop and waits for that; Geode's destroy removes locks from under them.
//   - - A suspension is a lock of the whole table: it has a token, an owner, limits, and is lost and reported like any
//     other.
package grantor
