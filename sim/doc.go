// Package sim breaks the protocols in simulated time: many members, clients, networks,
// clocks, disks and stores in one thread, and one seed that draws everything.
//
// The members are the very machines that ship: a [session.Machine] in front of a stack of
// membership and spaces. So are the two ends of what connects them with clients: package internal/server/edge
// (edge.go), and internal/client/session (stream.go, connection.go, belief.go). What is around them is made here:
// the part of package run (member.go), of internal/disk/cell (disk.go), of internal/disk/journal (journal.go,
// ledger.go), of transport (network.go), of gRPC (link.go), of node (local.go) and of curl (visitor.go). A store
// that members share (store.go) keeps what package storage
// promises of every one, and no more. So does a member's journal, which is written as
// internal/disk/journal does it, in groups that are synced together: a crash leaves some first ones of
// the requests that were not answered; a disk that fails ends the journal, and that the process,
// which begins anew with what is there.
//
// # A run
//
// A seed draws [settings] first: members, founders and guests, which faults happen and
// how often, odds of the network and the disks, clients and what they do. Each run has
// its own mix (swarm testing), but delays of up to 5 D are in every run. What Later lists
// is drawn from a second source of chance, in half of the runs; and from a third, whether
// clients want now much and now little, where sessions are all there is (restless.go). A
// [Bias] bends what was drawn, for a caller that knows what it looks for. Then:
//
//   - for Duration, faults happen while users lock and work;
//   - in some runs only a core is healed, a quorum and the members that come with it; the rest stays as
//     broken as it is, and the next two points are those of the core alone (core.go);
//   - everything is healed, and users go on for 12 s;
//   - users begin nothing new, and take each name once more. All that must be done
//     30 s after the last fault; a user that is later is slow, and after 120 s stuck.
//
// Everything that is drawn has a name: whose act it belongs to, which act that is, and
// what is chosen, as in "client1.0 call#3 hold" or "crash#2 at" (chance.go). [Record] writes
// down what was not as usual, which is a [Script]; [Play] plays one, without any chance:
// what it does not say is as usual, and usually nothing goes wrong, nothing takes long
// and no user asks for anything. Code that draws takes the functions of chance.go, and says
// by world.within, or tape.begin for what happens again and again, whose act it is.
//
// Nothing reads a real clock and nothing ranges over a map where the order could be
// seen: the same seed gives the same trace, byte for byte, on every machine.
//
// # What is checked
//
// The judge sees what members answer their users, and for how long users believe it by their
// own clocks. It knows no table (judge.go, judge_order.go):
//
//   - P1 exclusion: in the instant in which a grant reaches its user, all users that take
//     themselves for holders are compatible. And of the members (authority.go): one at
//     a time may grant, and knows of every member whose lease runs.
//   - P2 tokens: a grant's token is above all that users got for the name before it,
//     except those of compatible grants; the write of a client that holds the name is
//     never refused by a resource that compares tokens.
//   - P3 loss before regrant: in the instant in which a member says that a name is
//     granted, every incompatible holder has stopped believing; no unlock of a lock
//     that its holder believed in is refused. A name with a grace is kept for its last holder
//     until that is over, or the holder has said that it has stopped (grace.go). Where nothing is granted: while a member may
//     grant, no client believes in a session that this member does not know of or wait for.
//   - P4 no request is stranded: after healing every worker gets every name, all members
//     are in one view that may grant, and nothing is left in the authority's table. While
//     only a core is healed this holds for its members, and for every client that is well.
//   - P5 order: no request is granted a name before one that stood in the authority's queue
//     when the former was made, within a reign; and where no member is in charge, no exclusive lock before
//     one that was asked for by a request of which all had heard (hearing.go). Where leaders number
//     tickets, none before one that it excludes, and whose number a majority of them knew (leaders.go).
//     No session ends while a heartbeat that came before its end waits to be heard (busy.go).
//   - P6 exactly once: a request has one token, and none after it was released.
//   - P7 foreign unlocks: releases of other sessions' tokens are sent, and refused.
//   - P8 bounds: a refusal names a bound as it is configured; no queue is longer.
//   - P10 nothing is trusted: half of a stable cell is not taken for a whole one.
//
// A run of partition mode any keeps these promises within a side, as sides.go tells; and
// of two holders whose sides have met, one must lose its lock. A member that is configured otherwise
// than the others (misfit.go) must be refused with both values, and no other member because
// of it: a refusal of another, or a lease for it, breaks P10. A view is forced only where a
// quorum is lost for good, cells and all; its members come back as new ones that know
// nothing.
//
// When a run is over, what users saw of each name is compared with a model of a lock as a
// whole (histories.go, package history): of every 16th seed, of all where Linearizable asks
// for that. The sides of a partition that go on alone are not one lock, so mode any has no
// histories. What is violated is named after the promise that it breaks.
//
// In runs without faults what users do costs as many messages as the protocol's formulas
// say (cost.go): any other number breaks "cost", regardless of what users notice.
//
// Also, an invariant that a machine asserts is a crash, and so is a machine
// that asks to be woken again and again in one instant. Runs whose only fault is the
// crash of one coordinator count the clients that keep their locks (survival.go).
//
// What runs have exercised is counted: faults, phases, losses, messages, and what each
// machine was stepped with (coverage.go). Where the authority moves, the count has at which step of a
// transfer a participant has crashed, how many members were to become the authority at once, through how many a
// table went, and what became of grants that members keep (moving.go). Members are made the
// authority at once, and struck, in eager runs above all (eager.go). In an eighth of the runs they are far from each other
// (far.go). Where members vote, it has how that changes (reforming.go). Where no member is in charge, it has
// what a crash takes with it, which members join while others ask, late replies, and permissions that are
// kept (peering.go). Where leaders number tickets, it has at which step of a ticket its master, the leader that has answered
// first or its owner crashes, which leaders take tickets over, which members learn who leads, and what comes too late
// (leaders.go). In some runs of those a burst of requests leaves a link behind, which catches up (burst.go). In some runs whose
// members keep logs a leader hears no other member, and crashes (deafen.go). Where spaces are
// durable, clients take several names together in some runs (gather.go). Of a thousand runs or more with all faults,
// anything that was never hit fails the profile: no run has looked for what it would have found.
//
// # What it is not
//
// Wall clocks matter at the start of a member and where a view is forced. Messages between
// members are passed as values: their bytes are the business of package api. A test sees to it that no code
// changes a value which has changed hands (aliasing_test.go); the race detector sees to what else real
// members do at the same time.
//
// # Rooms
//
// A protocol is a [Protocol]: what [Of] makes of its descriptor, or a function that builds its machines. All else
// that a run must know of it stands in the protocol's own folder (package protocol/probe): where P5 is to be checked two
// functions that read its messages (or PeerProbe, or LeaderProbe), where not the coordinator decides one
// that says who does, what a run draws, and rows of coverage. Nothing here knows of any protocol otherwise: toy_test.go is one
// of 60 lines, on a Front of package simtest that knows what users ask; that of storetoy_test.go locks
// through a store. The following have their places, each
// in a folder below this one: explore (every state of a small cluster), shrink (fewer members,
// faults and calls), draw (a run as a picture, from the values of timeline that Config.Observe
// gets), published (the published algorithms' holes, each the code that ships without one
// rule), replay (a recorded run, fed to fresh machines). testdata/seeds.txt keeps the seeds
// that once failed, with the reason.
package sim
