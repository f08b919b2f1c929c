// Package explore visits every reachable state of a small cluster, while package sim visits some states of large ones.
//
// The members run the production machines, as package sim builds them: a session.Machine in front of a stack of
// membership and spaces, made by the Build of a sim.Protocol. A new protocol needs no code here. The environment is
// minimal: a disk that writes on request, a network, and users within the members' processes (package host) that lock
// and unlock.
//
// # What a run is
//
// A run follows the default schedule, which is deterministic. All messages arrive at once, in the order of sending.
// When none is in flight, users ask for locks, and release those they have. Then the members that are due tick; when
// none is due, time passes until one is. From this schedule, a run deviates as often as the budgets in [Config] allow:
// a member crashes or is paused, a packet is lost, duplicated or delayed, a user delays. The length of such a delay is
// unbounded and costs nothing: members restart and wake, delayed packets arrive and users act at any later point, and
// users ask for any name. Where the authority can be handed over, an operator makes members the authority at any point.
// The explorer tries every deviation at every point of every run; this is delay-bounded scheduling (Emmi, Qadeer,
// Rakamarić, 2011). Because states are compared in canonical form, a run without further deviations returns to known
// states, and the search ends. It is complete when every state was visited; the length of a run is unbounded.
//
// A state is visited, and counted, if the run can continue in more than one way, or time is about to pass. Forced steps
// before it belong to the transition; they are checked like every step. So in most states no message is in flight and
// no budget is left, and runs are counted in such states.
//
// Actions at one member commute with those at another until a packet goes from one to the other. So a deviation at a
// member is tried before the next step of that member, and whenever time is about to pass, and nowhere else (a
// partial-order reduction: the omitted runs have the same effects at each member, in the same order).
//
// # What is checked
//
// In every state, from the holders' side: no two users believe in one lock, nor in more units than there are (P1); one
// member at a time may grant, and it knows every member whose lease runs (P1, as in sim/authority.go). In every
// transition: tokens of a name rise (P2); when a grant is reported no other user believes any more, and the unlock of a
// believed lock is not refused (P3); a request gets one token, and none after it was settled (P6). From every state,
// the schedule without further faults (paused members wake, delayed packets arrive, members that are down start,
// holders unlock) leads to a state in which every call is answered, all members are in one view and its coordinator may
// grant (P4). Package sim checks P5, P7 and P8.
//
// # Canonical form, and why it is sound
//
// Two states are equal if the machines cannot distinguish them by their use of numbers and times.
//
//   - Times. Each member's clock starts each life at a large number that identifies the life, so that any time.Duration
//     is either a duration or an instant on a known clock (world.go). Instants are written relative to the clock's
//     present reading. A machine never learns when real time began, so two states that differ by a shift of it continue
//     alike. An instant further back than any timer runs (D·(1+δ), plus a timeout) is in the past of every comparison
//     that a machine makes: of several such instants only the order is kept. The instants of the membership have
//     tighter rules (rules.go): it does not matter when a deadline passed, nor how long a member was silent beyond the
//     longest wait of any other. A clock that restarts shows less than before, so remembered instants of a former life
//     are in the future, as with real clocks; of those too only the order is kept.
//   - Numbers: epochs, views, tenures, rounds of polls, requests, tokens. All numbers of a state are sorted together,
//     and each keeps its distance from its lower neighbour, up to four. Machines compare such numbers, copy them, and
//     count up by one from the greatest that they know. All of this has the same result in both states, unless a number
//     that lags by more than four caught up with another by counting alone, without having heard of it. That cannot
//     happen: an epoch is raised above all known ones, and everything else is counted by one member. A token is two
//     numbers, since its upper half is compared with epochs; so is any other number of that size. Where peers ask one
//     another their clocks leap, to a slot or above the possible grants of the lost, and are compared with a bound:
//     there each number keeps its value. The counters of the membership have tighter rules (rules.go): rounds of polls
//     are only compared within an epoch, by the member that sent them and those that answered, so only their order is
//     kept.
//   - Irrelevant fields. The time at which a member joined a view is kept for people; the time of a write matters only
//     while it is retried; the coordinator remembers when it sent each round of polls, but looks this up only for an
//     answer with the number of that round. Such fields are left out while they do not matter, each by a rule with its
//     reason in rules.go. A protocol without rules is explored too, in more states.
//   - Shape: everything else is kept unchanged, by package snapshot. Members keep their ids, and names and users
//     theirs, because no symmetry would be sound: elections depend on ids and addresses, so no two members are alike;
//     each user is at a separate member; and the name that a user asks for by default depends on the user's number.
//
// A test checks the rules: it takes a state in the middle of a run, changes in a copy everything that must not matter,
// and continues both through the same faults; they stay one state (TestRulesAreRight). Other tests compare with
// explorations that leave nothing out ([Config].Unreduced), and that rename nothing ([Config].Exact), to a depth: the
// results are the same.
//
// # What it leaves out
//
// Packets take no time, unless they are delayed; eight wait for a paused process, and later ones are lost. Jitter is a
// constant, different for each member. Timers are late by up to a quantum. Clocks are right, or one of them is fast by
// all of the drift. Wall clocks stand still: members with cells do not depend on them. Disks execute every write; a
// crash may come before or after. Users want exclusive locks, or slots where peers ask one another, without time
// limits. Package sim covers clients in separate processes.
//
// Digests have 128 bits; the report has the probability that two states shared one.
//
// # Files
//
//	rules.go      fields that do not matter
//	config.go     the configuration     search.go      breadth first, on all processors
//	world.go      a state, its clocks   store.go       the visited states; P4
//	begin.go      the initial states    checkpoint.go  stop and resume
//	action.go     possible actions      canonical.go   equality of states
//	step.go       a member's step       judge.go       checks
//	user.go       users of locks        trace.go       a counter-example, for people
//	options.go    options of a space of peers
package explore
