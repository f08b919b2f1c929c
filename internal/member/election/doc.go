// Package election decides which member coordinates the others.
//
// It is a variant of Garcia-Molina's Bully election (1982), as course notes on distributed coordination present it,
// with its gaps repaired. Package membership runs it; this package has the values, rules and messages.
//
// # As published
//
// Every node has an id, which is its priority, and is in one of four states: DOWN, ELECTION (halted by a candidate),
// REORGANIZATION (the coordinator is known, the state of the application is not) or NORMAL. It keeps CANDIDATE,
// COORDINATOR, ACTIVE (the participating nodes) and ANSWERS (the nodes that have answered in this phase). A node that
// finds that the coordinator does not answer
//
//  1. asks all higher nodes for their status (STATUS_POLL): if one is up, it leaves the election to that node;
//  2. halts all lower ones (ELECTION): the ones that answer are ACTIVE;
//  3. makes itself known to them (COORDINATOR);
//  4. gives them the state (NEW_STATE); a node that has answered everything is NORMAL. Answers that differ from ACTIVE
//     start the election again.
//
// # Gaps, and how they are closed
//
//   - A silent node is considered dead. With a pause or a partition there are two coordinators, and the lower one never
//     learns of the other. Here an election has an epoch, (counter, candidate), above every epoch that any member has
//     promised; a member that promises follows no lower one ([Promise], [Refuse]); and a quorum must promise. Two
//     quorums have a member in common, so of two candidates one fails, or knows the other's view ([Electorate],
//     [Ballot]).
//   - A node that restarts has forgotten what it promised. Here promises and accepted views are synced before they are
//     sent. A member that has lost them has another id, and does not vote in a view that it may have been part of,
//     unless every founder attends, because then no other member can have power ([Rules.Attendance]).
//   - A majority of which nodes? Views change: a [View] records the [Electorate] of every view back to the last one
//     known to be installed (its base), and a successor needs a quorum of each. A candidate that knew only one step
//     back could found a second view while one is installed (docs/design/membership.md §9, V27).
//   - No node polls the coordinator, so its death goes unnoticed: here members expect its polls, and suspect it when
//     three are missing.
//   - An isolated node elects itself forever, with ever higher epochs. Here no node proceeds to phase 2 unless a quorum
//     of the newest view has itself lost its coordinator ([Survey.Judge]). A healthy coordinator is not bullied.
//   - A returning node with the highest id halts all others. Here seniority in the view is the priority, and a
//     returning member is the most junior; with Preempt the highest id coordinates, as published ([Rules.Senior]).
//   - Duels: candidates stagger by rank, draw a jitter, and start again with a higher epoch; a junior candidate waits
//     once or twice for a senior one that is up.
//   - NEW_STATE without an answer: here it is package membership's NewView, which also carries COORDINATOR, and
//     ViewAck, which is sent when the view is synced. The application's state is not handed over but rebuilt from the
//     holders (protocol central).
//   - ELECTION stops the application. Here new grants pause, holders keep their locks, and the message that announces
//     the new view also renews their leases.
//
// # Types
//
// [Survey] is phase 1, [Ballot] phase 2, [Succession] the view that follows from the promises. They are plain values,
// without clocks or I/O. Founders vote, guests do not.
//
// Sources: Garcia-Molina, Elections in a Distributed Computing System (1982); Lamport, The Part-Time Parliament (1998),
// for ballots and intersecting quorums.
package election
