// Package membership agrees on views: which members are here, with leases that make silence safe.
//
// A [Machine] is one member's part. It stands below the machines of the lockspaces in
// a protocol.Stack, raises a protocol.View to them whenever it has accepted another
// one, and answers for one thing: while the coordinator of a view acts, no member or
// client believes in a lock that it does not know of. Then the protocols above may
// treat a change of the view as a perfect detector of failures.
//
// # One page
//
// A view is a list of members in order of seniority, under an epoch. Its coordinator
// polls every member each C = D/10. A poll echoes the member's own clock as the
// coordinator last heard it, and says what remains of the coordinator's role: the
// member's lease ends at echo + min(D, role). The role itself ends D after the sending
// of the latest poll that a quorum has answered. So every member's right to act ends
// by its own clock, counted from something that it sent itself; and a member that
// waits for that end counts from something that it received, (1+δ) times as long.
// Nothing else is ever counted from, and no clock is compared with another.
//
// A member that has heard nothing for S = 3C looks for a coordinator (package
// election): it asks every member (STATUS_POLL), and if a quorum is as lost as itself
// it asks for promises (ELECTION). With a quorum's promises it makes the next view of
// those that promised (NEW_STATE: [NewView]), which renews their leases at once: the
// survivors keep their locks. The view is installed when quorums of its own and of
// every view in its base have accepted it; and the authority acts D·(1+δ) after the
// last promise, because by then what the lost ones held has ended. No member is
// waited for when all have promised and the view before was open.
//
// A living coordinator changes its view by proposing the next number under its own
// epoch: for joiners, leavers, the silent, and those who come back under another
// tenure. Only what a dropped tenure held is waited for (protocol.View.Dropped).
//
// # Files
//
//	machine.go    the one switch            follow.go     a member: polls, acceptance, answers
//	start.go      this life and the last    lease.go      tenures, what is carried over
//	keep.go       the cell, and what waits  search.go     phases 1 and 2; hints
//	cell.go       its bytes                 reign.go      phases 3 and 4; the coordinator
//	horizon.go    what clients may believe  change.go     joins, drops, refusals
//	pledges.go    what others know of that  promise.go    the answer to a candidate
//	leave.go      leaving                   exclusion.go  who is waited for, and how long
//	force.go      an operator's views       raise.go      another epoch for the same view
//	merge.go      sides that meet           status.go     what is raised, and reported to people
//	terms.go      what all must agree on    apart.go      members that do not hear each other
//	proposal.go   who has heard of a change       trips.go      how long answers take
//	drift.go      the stretch by (1+δ)      config.go     defaults, and what is derived of them
//
// # Codes
//
// Comments here cite V1 to V29: the ways in which the obvious design of leases and views fails. docs/design/membership.md §9
// has each in a sentence, with the rule that closes it.
//
// # Invariants
//
//   - What a member has promised or accepted is synced before it is sent; a message
//     that depends on the cell waits in a queue until the cell is written. A write that
//     fails loses those messages; a member that waits for one asks again.
//   - A tenure whose lease has ended, or that a view has dropped, never comes back.
//   - A lease is renewed only under the tenure that the accepted view lists. What was
//     granted under an earlier epoch goes on beyond its old end only when every space
//     has confirmed that the newest authority knows it (protocol.Lease.Carried).
//   - A role needs, while a change is under way, the quorums of the old view and of the new one: a proposal alone
//     is no quorum (V11).
//   - A client is promised something beyond its member's lease when a quorum has written
//     down that member's pledge, of the version that says so or a later one. The pledge
//     of a tenure that is gone is kept, through elections, until its clients believe no
//     longer. A member that waits for a tenure waits for that tenure's own pledge,
//     regardless of what others have made.
//   - Before the authority serves, a member that lapses, restarts or falls silent makes the
//     election void: it starts again, at once with phase 2 where all are heard. A search would
//     take so long over slow links that the next lease ends in it.
//
// # Alone
//
// A member that is the only one in its installed view needs no other member's answer: its
// role and lease never end, and it sleeps. It is a cluster of one that follows the same
// rules: its start is an election by full attendance, with one write of the cell for
// promise, acceptance and installation; what an earlier life's clients believe is waited
// for, D·(1+δ) and its pledge from the start, unless the cell says that nothing is.
//
// # What each crash does
//
//   - A member: its clients believe for the rest of its lease and its pledge, however
//     quickly it restarts. It is dropped after 2·S, or comes back under its next
//     incarnation; either way that is waited for. Its vote outlives it where it has a
//     cell.
//   - The coordinator: S, T and a round of messages later there is another, which acts
//     D·(1+δ) after that. Holders at the survivors go on.
//   - A candidate: those that it has halted wait for 4·T and search again. T is what is configured, or more where
//     round trips take longer, as measured (trips.go).
//   - All at once, with cells: an election like any other, which waits for what was
//     promised from each member's start. Without cells: a new bootstrap, by every
//     founder, above the wall clock's second.
//   - The disk: a member whose first write fails is unfit. One that fails later, or has no answer, costs
//     its vote and its clients' pledge until the next succeeds. A member that cannot write asks for no
//     promises, which would halt the others in vain, and for no place. A coordinator proposes nothing
//     meanwhile; after D it has the others write, and where a quorum without it can, it gives up its
//     role. Otherwise it goes on: disks are often full all at once.
//
// # Where this says more than the design
//
//   - The coordinator of a view is its epoch's candidate, regardless of its place in the order of seniority: the
//     order is kept, so that ties are broken as before.
//   - The role never moves back. While a change is under way it advances only by polls
//     that all the quorums have answered, which is what the end of the change needs.
//   - An authority serves when the view is installed, the waits are over, and every
//     member has said that its spaces have reported ([PollAnswer].Reported). So a
//     change of the view never finds a reconciliation half done.
//   - A member that is asked agrees that the coordinator is lost C/2 before it would
//     say so by itself: members hear the same last poll within milliseconds of each
//     other, and an election would fail once for nothing.
//   - A promise says how much longer the sender's earlier lives may be believed
//     ([election.Promise].Owes), so that a total restart waits from each start and a
//     clean one not at all.
//   - What a quorum remembers of a pledge is counted like the role: while a proposal is
//     under way, in every electorate that it needs. One that its coordinator alone has
//     accepted is forgotten with it. And no member promises more than its own cell says:
//     its next life tells the others how long to wait.
//   - No pledge exceeds what every founder has written down as the longest ([election.Limits]).
//     Should founders attend in the place of a quorum whose memories are lost, or an operator
//     force a view, that is waited for; and until it is over, as no member's pledge, by any
//     member that is elected meanwhile. It rises when all founders are there, and does not
//     sink: so the first use of a longer ttl needs all of them, and with one missing or without
//     a cell nothing longer is promised than before.
//   - The pledge of a tenure pays for the drift of its clients' clocks already: it is waited
//     for as it is, after the lease, which is stretched.
//   - A founder without a cell says from which second it knows of epochs
//     ([election.StatusAnswer].Promised): a candidate that has been up for long knows the
//     wall clock only by its own, which may be slow.
//   - When a coordinator resigns, its most senior member stands at once, and each other one T later for each
//     that is before it: all hear of it in the same instant. A member that is asked for its promise before
//     that word has come refuses, because its coordinator is well; it is asked again, and not left out.
//   - A leaver gets [Dropped] when the view without it is installed, even one that it has
//     helped to elect; if that is lost, it asks the leader of that view.
//   - A member that leaves elects no coordinator. Where all founders that answer are leaving, no member is waited
//     for: a cluster that is stopped as a whole ends at once.
//   - All founders may take a shorter lease in a restart of all; what was lent under the
//     longer one, which the view tells, is waited for.
//   - A forced view's epoch is the wall clock's second at the end of its wait, or the next
//     above all that are known here, whichever is higher. No other epoch outruns that clock
//     (docs/design/membership.md §5), so this one is above all that the lost members have promised or
//     served; and when it acts it is not ahead of that clock, so that tokens go on rising
//     should all memory be lost after it. That needs a clock that is right where a member's
//     epochs begin: one set back while the member runs is noticed and not believed; one set
//     back before its start leaves the next above all known, and may repeat tokens of lost
//     members that went on without this one.
//   - A forced view needs the agreement of those named who are leaving: they have no place
//     in it, but votes on what follows the view before. One whose cell still has that
//     may come back, and be its quorum alone.
//   - Should a forced view have been a mistake, because the others were alive with a quorum,
//     exclusion is lost until the sides can reach each other. Then it ends: coordinators ask
//     missing founders now and then how they are, in mode primary too; a coordinator that
//     learns of a newer installed view stops, and its members join that one.
//   - In mode any a founder that has no place in the newest view leads a side as well, if
//     no member that has one is up, under an epoch of the wall clock. A member that
//     promises has a place. Two sides that have counted alike are joined under another
//     number before a member of one takes anything from the other (V25), whether their
//     coordinators meet or a single member asks for a place.
//   - A lapsed tenure's clients may believe for its pledge after it: the cell goes on
//     saying so until then.
//   - A member that must agree to a view gets it even if it has no place in it.
//   - A founder is of a cluster when it has accepted a view there, or has a place in one. What a founder without a
//     cell has only heard of may be over: it goes with the newest view that it hears of.
//   - A coordinator tells others of a change of the view when it has written it. A newcomer might
//     have a lease otherwise by a view that its coordinator forgets, which is a quorum of the one before
//     and waits for no member; and where its disk is full, the others could not replace a
//     change that needs its promise.
//   - Polls say nothing of the links between members of which none coordinates. Where a space
//     needs them and says that one is broken, the view goes on without one of its two ends, as
//     without a lost member, until that has heard the other one again.
package membership
