// Package unordered visits every order in which messages between a few machines can arrive.
//
// Package explore goes by one order and deviates from it as often as it may, with time that
// passes, crashes and all that members are. Here there is none of that, and no order at all:
// a message arrives at any point after it was sent, whatever was sent before it and after it,
// and users ask and give back at any point. It is what model checkers of algorithms do, with
// the machines that ship: those of a space, one for each member, under one view that is
// open and stays.
//
// # What is a state
//
// The machines, the messages under way, of which nobody can tell which was sent first, and
// what each user has asked for and was told. Time stands still, so nothing is repeated: every
// message is one that the algorithm needs. States are told apart by what they are
// (package snapshot): nothing is renamed, and what nothing can depend on here is left out (rules.go).
//
// It finds what depends on the order alone: of the three faults of the published algorithms two in
// some thousand states (the tests have them). Package explore finds what depends on time and
// on loss, too.
//
// A run ends, because each user wants a bounded number of locks; so what can be reached is
// finite, and is visited depth first. A step copies one machine, and shares the others with
// the states before.
//
// # What is checked
//
// When a grant is told: nobody holds beside it, or more than there is (P1); its token is above
// those before it, or that of no other holder where tokens do not order (P2); and it
// answers a request that waits (P6). Where nothing is under way and no user can do anything,
// nobody waits (P4). Members say nothing that the others ignore.
//
// # Files
//
//	config.go   what is explored, and what is found      world.go   a state, and what leads to the next
//	explore.go  depth first                              rules.go   what tells no states apart
package unordered
