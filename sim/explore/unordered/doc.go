// Package unordered visits every order in which messages between a few machines can arrive.
//
// Package explore goes by one order and deviates from it as often as it may, with time that
// passes, crashes and all that members are. Here there is none of that, and no order at all:
// a message arrives at any point after it was sent, regardless of what was sent before it and after it,
// and users ask and give back at any point. It is what model checkers of algorithms do, with
// the machines that ship: those of a space, one for each member, under one view that is
// open and stays.
//
// # What is a state
//
// The machines, the messages under way, whose order is unknown, and what each user has asked
// for and heard. Time stands still, so nothing is repeated: every
// message is one that the algorithm needs. States are compared by what they are
// (package snapshot): nothing is renamed, and what nothing can depend on here is left out (rules.go).
//
// It finds what depends on the order alone: of the three faults of the published algorithms of permission two in
// some thousand states, and both of snaplock (the tests have them). Package explore finds what depends on time and
// on loss, too.
//
// A run ends, because each user wants a bounded number of locks; so what can be reached is
// finite, and is visited depth first. A step copies one machine, and shares the others with
// the states before.
//
// # What is checked
//
// When a grant is reported: no other user holds, or no more units than there are (P1); its token is above
// those before it, or that of no other holder where tokens do not order (P2); and it
// answers a request that waits (P6). Where nothing is under way and no user can do anything,
// no user waits (P4). Members say nothing that the others ignore.
//
// # Links that keep their order
//
// What members of protocol bakery say under a term goes in envelopes, which are numbered for each link and taken in turn
// only; what comes out of turn is sent again. So envelopes of one link arrive in turn here, and links interleave in
// every way: the model in which snaplock's hole is. Their numbers, and what is kept to say them again, tell no states apart.
//
// A step of a ticket ends by the first answer. One that comes later and changes nothing never will, so it arrives as
// soon as it is the next on its link (late, in world.go).
//
// # A crash
//
// With Crashes one member, any, crashes at any moment. What it has sent arrives or does not: an envelope that is late
// enough comes to one who has taken the view without its sender, and ignores it. The others take that view, each at
// any later moment; when all have, it is open, and each learns that at any moment. Leaders are elected and
// hand over by messages that arrive in any order. A user of the one that has crashed counts as holding
// until the first member learns that the view is open.
//
// # Speed
//
// A machine meets the same event in many states. What it makes of it is kept, so most steps are a look into a map.
//
// # Files
//
//	config.go   what is explored, and what is found      begin.go    the state before any user asks
//	explore.go  depth first                              world.go    a state, and what can happen in it
//	shorten.go  the shortest run that breaks a promise   engine.go   what leads to the next
//	judge.go    what is checked                          crash.go    a member less
//	rules.go    what tells no states apart
package unordered
