// Package membership agrees on views: which members are here, with leases that make silence safe.
//
// A [Machine] is one member's part. It sits below the machines of the lockspaces in a protocol.Stack, raises a
// protocol.View to them whenever it has accepted a new one, and guarantees one thing: while the coordinator of a view
// acts, no member or client believes in a lock that the coordinator does not know. So the protocols above may treat a
// change of the view as a perfect detector of failures.
//
// # One page
//
// A view is a list of members in order of seniority, with an epoch. Its coordinator polls every member each C = D/10. A
// poll echoes the member's own clock as the coordinator last heard it, and carries the time left of the coordinator's
// role: the member's lease ends at echo + min(D, role). The role itself ends D after the coordinator sent the latest
// poll that a quorum has answered. So every member's right to act ends by its own clock, counted from a message it
// sent; a member that waits for that end counts from a message it received, (1+δ) times as long. No other starting
// point is used, and no two clocks are ever compared.
//
// A member that has heard nothing for S = 3C looks for a coordinator (package election): it asks every member
// (STATUS_POLL), and if a quorum has lost its coordinator too, it asks for promises (ELECTION). With a quorum's
// promises it forms the next view from the members that promised (NEW_STATE: [NewView]). That renews their leases at
// once, so the survivors keep their locks. The view is installed when quorums of its own and of every view in its base
// have accepted it; and the authority acts D·(1+δ) after the last promise, because by then the holds of the lost
// members have ended. There is no wait when all have promised and the previous view was open.
//
// A live coordinator changes its view by proposing the next number under its own epoch: for members that join, leave,
// fall silent, or come back under another tenure. The only wait is for what a dropped tenure held
// (protocol.View.Dropped).
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
// Comments here cite V1 to V29: the ways in which the obvious design of leases and views fails.
// docs/design/membership.md §9 describes each in a sentence, with the rule that prevents it.
//
// # Invariants
//
//   - A member syncs its promises and acceptances before it sends them: a message that depends on the cell is queued
//     until the cell is written. A failed write loses those messages; a member that waits for one asks again.
//   - A tenure whose lease has ended, or that a view has dropped, never comes back.
//   - A lease is renewed only under the tenure that the accepted view lists. A grant from an earlier epoch continues
//     past its old end only when every space has confirmed that the newest authority knows it (protocol.Lease.Carried).
//   - While a change is under way, a role needs the quorums of both the old and the new view: those of a proposal alone
//     do not suffice (V11).
//   - A client gets a promise beyond its member's lease only when a quorum has recorded that member's pledge, at that
//     version or a later one. The pledge of a past tenure is kept, through elections, until its clients no longer
//     believe. A member that waits for a tenure waits for that tenure's own pledge, regardless of the pledges of
//     others.
//   - Until the authority serves, a member that lapses, restarts or falls silent voids the election. It starts again,
//     directly with phase 2 if all members are heard: over slow links a search would take so long that the next lease
//     ends in it.
//
// # Alone
//
// The only member of an installed view needs no other member's answer: its role and lease never end, and it sleeps. It
// is a cluster of one that follows the same rules. Its start is an election by full attendance, with one write of the
// cell for promise, acceptance and installation. It waits until the clients of an earlier life no longer believe,
// D·(1+δ) plus its pledge from the start, unless the cell says that there are none.
//
// # Effect of each crash
//
//   - A member: its clients believe for the rest of its lease and its pledge, however quickly it restarts. It is
//     dropped after 2·S, or comes back under its next incarnation; either way the others wait for that time. If it has
//     a cell, its vote outlives it.
//   - The coordinator: S, T and one round of messages later another one is elected, which acts D·(1+δ) after that.
//     Holders at the survivors keep their locks.
//   - A candidate: the members that it has halted wait for 4·T and search again. T is the configured value, or more if
//     measured round trips take longer (trips.go).
//   - All at once, with cells: an election like any other, which waits out the earlier promises from each member's
//     start. Without cells: a new bootstrap, by every founder, above the wall clock's second.
//   - The disk: a member whose first write fails is unfit. A later write that fails, or hangs, costs the member its
//     vote and its clients' pledge until the next one succeeds. A member that cannot write asks neither for promises,
//     which would halt the others in vain, nor for a place in the view. A coordinator that cannot write proposes
//     nothing; after D it makes the others write, and gives up its role if a quorum without it can. Otherwise it stays:
//     disks often fill up all at once.
//
// # Beyond the design document
//
//   - The coordinator of a view is its epoch's candidate, regardless of its seniority. The order of seniority is kept,
//     so ties are broken as before.
//   - The role never moves back. While a change is under way it advances only by polls that all the quorums have
//     answered; the end of the change depends on that.
//   - An authority serves when the view is installed, the waits are over, and every member has answered that its spaces
//     have reported ([PollAnswer].Reported). So a view change never interrupts a reconciliation.
//   - When asked, a member agrees that the coordinator is lost C/2 earlier than it would suspect it by itself. Members
//     hear the same last poll within milliseconds of each other, so the first election would otherwise fail needlessly.
//   - A promise carries how much longer clients may believe in the sender's earlier lives ([election.Promise].Owes). So
//     a total restart counts its wait from each member's start, and a clean one does not wait at all.
//   - A quorum for a pledge is counted like one for the role: while a proposal is under way, in every electorate that
//     it needs. A proposal that its coordinator alone has accepted is forgotten with that coordinator. And no member
//     promises more than its own cell records: its next life reports to the others how long to wait.
//   - No pledge exceeds the maximum that every founder has recorded ([election.Limits]). If founders attend in place of
//     a quorum whose memory is lost, or an operator forces a view, the members wait for that maximum; until it is over,
//     so does any member that is elected meanwhile, as for a pledge of no member. The maximum rises only when all
//     founders are present, and never falls. So the first use of a longer ttl needs all of them; with one missing or
//     without a cell, no promise is longer than before.
//   - The pledge of a tenure already includes the drift of its clients' clocks: members wait for it as it is, after the
//     lease, which is stretched.
//   - A founder without a cell reports the second from which it knows of epochs ([election.StatusAnswer].Promised): a
//     candidate that has been up for a long time knows wall-clock time only by its own clock, which may be slow.
//   - When a coordinator resigns, its most senior member becomes a candidate at once, and each other member T later for
//     each one ahead of it: all hear of the resignation at the same moment. A member that is asked for its promise
//     before that message arrives refuses, because its coordinator is well; the candidate asks it again, and does not
//     leave it out.
//   - A leaving member gets [Dropped] when the view without it is installed, even a view that it helped to elect; if
//     that message is lost, it asks the leader of that view.
//   - A member that leaves elects no coordinator. If all founders that answer are leaving, there is no wait: a cluster
//     that is stopped as a whole ends at once.
//   - When all founders restart, they may do so with a shorter lease; they wait out the longer one, which the view
//     records.
//   - A forced view's epoch is the wall clock's second at the end of its wait, or the next above all that this member
//     knows, whichever is higher. No other epoch outruns that clock (docs/design/membership.md §5), so this one is
//     above all that the lost members have promised or served. When it acts it is not ahead of that clock, so tokens
//     keep rising even if all memory is lost later. This needs a correct clock when a member's epochs begin. A clock
//     set back while the member runs is noticed and ignored. After one set back before the start, the epoch is only the
//     next above all known ones, and may repeat tokens of lost members that continued without this one.
//   - A forced view needs the agreement of the named members that are leaving: they have no place in it, but they vote
//     on the successor of the previous view. One whose cell still has that view could come back, and be its quorum
//     alone.
//   - If a forced view was a mistake, because the others were alive with a quorum, exclusion is lost until the sides
//     can reach each other. Then the split ends: coordinators ask missing founders for their status now and then, in
//     mode primary too; a coordinator that learns of a newer installed view stops, and its members join that view.
//   - In mode any a founder without a place in the newest view may also lead a side, under an epoch of the wall clock,
//     if no member with a place is up. A member that promises has a place. Two sides that used the same numbers are
//     joined under another number before a member of one accepts anything from the other (V25), whether their
//     coordinators meet or a single member asks for a place.
//   - A lapsed tenure's clients may believe for the length of its pledge after it: the cell keeps that record until
//     then.
//   - A member that must agree to a view gets it even if it has no place in it.
//   - A founder belongs to a cluster when it has accepted a view there, or has a place in one. A view that a founder
//     without a cell has only heard of may be over: it joins the newest view that it hears of.
//   - A coordinator sends a view change only once it has written it. Otherwise a newcomer might have a lease under a
//     view that its coordinator forgets, while that coordinator is a quorum of the previous view and waits for no
//     member. And if the coordinator's disk were full, the others could not replace a change that needs its promise.
//   - Polls do not test the links between two members that are not the coordinator. If a space needs such a link and
//     reports it broken, the view continues without one of its two ends, as without a lost member, until that end has
//     heard the other again.
package membership
