// Package sim tests the protocols by deterministic simulation: members, clients, networks, clocks, disks and stores run
// in simulated time, in one thread, and one seed draws every choice.
//
// The members run the production machines: a [session.Machine] in front of a stack of membership and spaces. Both ends
// of a client's connection are production code as well: package internal/server/edge (edge.go) and package
// internal/client/session (stream.go, connection.go, belief.go). Package sim replaces everything around them: package
// run (member.go), internal/disk/cell (disk.go), internal/disk/journal (journal.go, ledger.go), transport (network.go),
// gRPC (link.go), node (local.go) and curl (visitor.go). A shared store (store.go) keeps exactly the guarantees that
// package storage demands of every store. A member's journal is written in groups that are synced together, as in
// internal/disk/journal. A crash keeps a prefix of the unanswered requests. A failed disk ends the journal and with it
// the process, which restarts from the data on disk.
//
// # A run
//
// A seed first draws [settings]: members, founders and guests, the faults and their rates, the odds of the network and
// the disks, the clients and their calls. Each run has its own mix (swarm testing), but every run has delays of up to 5
// D. The faults in Later come from a second source of chance, in half of the runs. A third source draws how demand
// changes between high and low in protocols without locks (restless.go). A [Bias] bends the drawn settings, for a
// caller that looks for a particular kind of failure. A run has these phases:
//
//   - For Duration, faults happen while users lock and work.
//   - In some runs only a core is healed: a quorum and the members that come with it. The rest stays broken, and the
//     next two phases apply to the core alone (core.go).
//   - Everything is healed, and users continue for 12 s.
//   - Users start no new work, and take each name once more. All of it must be done 30 s after the last fault; a later
//     user is slow, and stuck after 120 s.
//
// Every choice has a name: the actor, the act and the thing chosen, as in "client1.0 call#3 hold" or "crash#2 at"
// (chance.go). [Record] writes down the choices that differ from the default, as a [Script]. [Play] plays a script
// without any chance: each choice that the script omits has its default, and by default nothing fails, nothing is slow
// and no user makes a call. Code that draws uses the functions of chance.go, and names the actor with world.within, or
// with tape.begin for a periodic act.
//
// Nothing reads a real clock, and nothing ranges over a map where the order could show: the same seed gives the same
// trace, byte for byte, on every machine.
//
// # What is checked
//
// The judge sees the members' answers to their users, and how long users believe them by their own clocks. It does not
// see any table (judge.go, judge_order.go):
//
//   - P1 exclusion: at the instant at which a grant reaches its user, all users that believe they hold the name are
//     compatible. For the members (authority.go): one at a time may grant, and it knows every member whose lease runs.
//   - P2 tokens: a grant's token exceeds all tokens that users got for the name before, except those of compatible
//     grants. A resource that compares tokens never refuses a write of the client that holds the name.
//   - P3 loss before regrant: at the instant at which a member reports a grant, every incompatible holder has stopped
//     believing in its own. No unlock of a lock that its holder believed in is refused. A name with a grace is reserved
//     for its last holder until the grace ends or the holder reports that it has stopped (grace.go). In protocols
//     without locks: while a member may grant, no client believes in a session that this member neither knows nor waits
//     for.
//   - P4 no request is stranded: after healing every worker gets every name, all members are in one view that may
//     grant, the authority's table is empty, and no client is charged anything. While only a core is healed this holds for its members, and for every
//     client that is well.
//   - P5 order: within a reign, no request is granted a name before another one that was in the authority's queue when
//     the first was made. Without a coordinator, no exclusive lock is granted before an earlier request that every
//     member had heard of (hearing.go). With numbered tickets, none is granted before a conflicting ticket whose number
//     a majority of the leaders knew (leaders.go). No session ends while a heartbeat that arrived before its end is
//     unread (busy.go).
//   - P6 exactly once: a request has one token, and none after its release.
//   - P7 foreign unlocks: releases with tokens of other sessions are sent, and refused.
//   - P8 bounds: a refusal names a bound as it is configured; no queue is longer. A client with a quota is refused because
//     of it if it has used it up, and not otherwise (quota.go).
//   - P10 no trust in torn data: half of a stable cell is never read as a whole one.
//
// In partition mode any, a run keeps these promises within a side (sides.go); when the sides of two holders meet, one
// of the two must lose its lock. A member with a different configuration (misfit.go) must be refused, with both values,
// and no other member because of it: a refusal of another member, or a lease for this one, breaks P10. A view is forced
// only where a quorum is lost permanently, cells included; its members return as new ones that know nothing.
//
// After a run, the users' history of each name is checked against a model of a lock (histories.go, package history):
// for every 16th seed, and for all of them with Linearizable. Mode any has no histories, as the sides of a partition
// are not one lock. A violation has the name of the broken promise.
//
// In runs without faults, users' acts must cost as many messages as the protocol's formulas give (cost.go). Any other
// number breaks "cost", regardless of what users notice.
//
// A failed invariant of a machine counts as a crash, and so does a machine that asks to be woken again and again at one
// instant. Runs whose only fault is the crash of one coordinator count the clients that keep their locks (survival.go).
//
// Coverage counts what the runs have exercised: faults, phases, losses, messages, and the events of each machine
// (coverage.go). Further rows depend on the protocol:
//
//   - Where the authority moves (moving.go): the step of a transfer at which a participant crashed, how many members
//     were made the authority at once, how many members a table passed through, and what became of grants that members
//     keep. Eager runs make members the authority at once and crash them (eager.go). In an eighth of the runs, members
//     are far from each other (far.go).
//   - Where members vote: how the voters change (reforming.go).
//   - Where no member is in charge (peering.go): what a crash destroys, members that join while others ask, late
//     replies, and permissions that are kept.
//   - Where leaders number tickets (leaders.go): the step of a ticket at which its master, the first leader to answer
//     or its owner crashes, takeovers of tickets, members that learn the leader, and messages that come too late. In
//     some of these runs a burst of requests leaves a link behind, which catches up (burst.go).
//   - Where members keep logs: in some runs a leader hears no other member, and crashes (deafen.go).
//   - Where spaces are durable: in some runs clients take several names together (gather.go).
//
// In a profile of at least a thousand runs with all faults, every row must have been hit: a row without a hit fails the
// profile, as no run has looked for the bugs behind it.
//
// # What it is not
//
// Wall clocks matter only at the start of a member and where a view is forced. Messages between members are passed as
// values; their encoding is the business of package api. A test checks that no code changes a value after it has
// changed hands (aliasing_test.go); the race detector covers the other concurrency of real members.
//
// # Layout
//
// A [Protocol] comes from [Of] with the protocol's descriptor, or from a function that builds its machines. All other
// knowledge about a protocol is in the protocol's own folder (package protocol/probe): for P5, two functions that read
// its messages (or PeerProbe, or LeaderProbe); a function that names the member that decides, where that is not the
// coordinator; the settings of a run; and rows of coverage. toy_test.go has a protocol in 60 lines, on a Front of
// package simtest that tracks users' requests; the one of storetoy_test.go locks through a store. The folders below
// are: explore (every state of a small cluster), shrink (fewer members, faults and calls), draw (a run as a picture,
// from the values of timeline that Config.Observe gets), published (holes of published algorithms, each the production
// code without one rule), and replay (a recorded run, fed to fresh machines). testdata/seeds.txt keeps the seeds that
// once failed, with the reason.
package sim
