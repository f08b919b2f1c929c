// Package explore visits every state that a small cluster can get into, where package sim
// visits some states of large ones.
//
// The members are the machines that ship, as package sim builds them: a session.Machine in
// front of a stack of membership and spaces, made by the Build of a sim.Protocol. A new
// protocol needs nothing here. What is around them is as small as can be: a disk that
// writes when asked, a network, users within the members' processes (package host), who
// take locks and give them back.
//
// # What a run is
//
// A run follows the default schedule, which has no chance in it: all that was sent arrives
// at once, in the order of its sending; when nothing is under way, users ask, and give back
// what they have; then the members that are due tick; when none is, time passes until one is.
// From that, a run deviates as often as the budgets in [Config] allow: a member crashes or
// is paused, a packet is lost, doubled or delayed, a user takes his time. How long that
// lasts is not bounded and costs nothing: members restart and wake, delayed packets arrive and
// users act at any later point, and users ask for any name. Where the authority can be handed
// over, an operator makes members the authority at any point. The explorer tries every deviation at every point of
// every run; this is delay-bounded scheduling (Emmi, Qadeer, Rakamarić, 2011). Because
// states are compared in canonical form, what goes on without deviation returns to
// states that are known, and the search ends. It is complete when no state is left that
// was not looked at; there is no bound on the length of a run.
//
// A state is looked at, and counted, where something can go on in more than one way or time
// is about to pass. What must happen before that happens on the way to it, and is checked as
// every step is; it is a part of the transition. So a state is mostly one in which no
// message is under way and no budget is left, and runs are counted in such states.
//
// What happens at one member commutes with what happens at another until a packet goes from
// one to the other. So a deviation at a member is tried when the next thing happens to that
// member, and whenever time is about to pass, and nowhere else (a partial-order reduction:
// the runs that are left out have the same effects at each member, in the same order).
//
// # What is checked
//
// In every state, from the holder's side: no two users believe in one lock, nor in more
// units than there are (P1); of the
// members one at a time may grant, and knows of every member whose lease runs (P1, as in
// sim/authority.go). In every transition: tokens of a name rise (P2), a grant is reported when no user
// believes any more, and the unlock of a believed lock is not refused (P3), and a request
// gets one token, and none after it was settled (P6). And from every state the schedule
// without further faults (a paused member wakes, a delayed packet arrives, a member that is down starts,
// a user that holds unlocks) leads to one where everything that was asked is answered, all
// members are in one view and its coordinator may grant (P4). P5, P7 and P8 are sim's.
//
// # Canonical form, and why it is sound
//
// Two states are taken for one if the machines cannot tell them apart by what they do with
// numbers and times.
//
//   - Times. Each member's clock shows a huge number at the start of each life, its own, so
//     that any value of the type time.Duration is either a length of time or an instant on
//     a known clock (world.go). Instants are written relative to
//     what that clock shows now. A machine never learns when real time began, so two states
//     that differ by a shift of it go on alike. An instant that lies further back than any
//     timer runs (D·(1+δ), and a patience to spare) is in the past of every comparison that a
//     machine makes: of several such only the order is kept. The instants of the membership
//     are known better (rules.go): a deadline that has passed has passed, whenever it did,
//     and a member that was silent for longer than any other waits was silent. A clock that begins again
//     shows less than before, so what is remembered of a former life lies in the future, as
//     with real clocks; of that too only the order is kept.
//   - Numbers: epochs, views, tenures, rounds of polls, requests, tokens. All of a state are put
//     in order together, and each becomes as far above its neighbour as it was, by at most
//     four. Machines compare such numbers, copy them, and count up by one from the greatest
//     that they know; all of that gives the same in both states, unless a number that lags
//     behind by more than four caught up with another by counting alone, without having
//     heard of it. A member that counts here has heard of it: an epoch is raised above all that
//     are known, everything else is counted by one member. A token is two numbers, since
//     its upper half is compared with epochs; and so is any number that is as large.
//     Where peers ask one another their clocks leap, to a slot or above what the lost may have
//     given, and are compared with a bound: there each number keeps its value.
//     The counters of the membership are known better (rules.go): rounds of polls are
//     compared within an epoch alone, by the member that sent them and those that answered, so their
//     order is kept and nothing else.
//   - What says nothing: since when a member is in a view is kept for people; when a write
//     was sent matters while it is tried again; the coordinator remembers when it sent each
//     round of polls, and looks that up for the answer to that round alone, which no member
//     gives that has not its number. Such fields are left out while they say nothing, each by
//     a rule with its reason in rules.go. A protocol that has no rules there is explored all
//     the same, in more states.
//   - Shape: everything else is kept as it is, by package snapshot. Members keep their
//     ids, and names and users theirs, because here no symmetry would be sound: elections go
//     by ids and addresses, so no two members are alike; each user is at a member of his own;
//     and which name a user asks for by default goes by the user's number.
//
// The rules are as right as a test shows: it takes a state in the middle of a run, changes in
// a copy all that is not to matter, and lets both go on through the same faults; they stay
// one state (TestRulesAreRight). Other tests compare with explorations where nothing is left
// out ([Config].Unreduced), and where nothing is renamed ([Config].Exact), to a depth: they end
// alike.
//
// # What it leaves out
//
// Packets take no time, unless they are delayed; eight wait for a process that is paused, and
// later ones are lost. Jitter is a constant, another one for each
// member. Timers are late by up to a quantum. Clocks are right, or one of them is
// fast by all of the drift. Wall clocks stand still: with cells nothing hangs on them. Disks
// write what machines ask for; a crash may come before or after. Users want exclusive locks, or where
// peers ask one another slots, without limits of time. Clients that are processes of their own are sim's.
//
// Digests have 128 bits; the report says how likely it is that two states had one.
//
// # Files
//
//	rules.go      what says nothing
//	config.go     what is explored      search.go      breadth first, on all processors
//	world.go      a state, its clocks   store.go       what is known of states; P4
//	begin.go      the first states      checkpoint.go  stopping, and going on
//	action.go     what can happen       canonical.go   when two states are one
//	step.go       a member's step       judge.go       what is checked
//	user.go       who takes locks       trace.go       a counter-example, for people
//	options.go    of a space of peers
package explore
