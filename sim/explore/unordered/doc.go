// Package unordered visits every order in which messages between a few machines can arrive.
//
// Package explore follows one order and deviates from it within budgets, with time, crashes and complete members. This
// package has neither time nor a default order: a message arrives at any point after it was sent, regardless of
// messages before and after it, and users ask and release at any point. It works like a model checker for algorithms,
// but with the production machines: those of a space, one for each member, under one open view that stays.
//
// # What is a state
//
// A state is the machines, the messages in flight without an order, and each user's requests and answers. Time stands
// still, so no message is repeated: the algorithm needs every one. States are compared by content (package snapshot):
// nothing is renamed, and fields that cannot matter here are left out (rules.go).
//
// The search finds bugs that depend only on the order: two of the three faults of the published permission algorithms
// in some thousand states, and both of snaplock (see the tests). Package explore also finds those that depend on time
// and loss.
//
// A run ends, because each user wants a bounded number of locks. So the reachable states are finite, and are visited
// depth first. A step copies one machine, and shares the others with the states before.
//
// # What is checked
//
// When a grant is reported: no other user holds, or no more units than there are (P1); its token exceeds those before
// it, or differs from every other holder's where tokens are not ordered (P2); and it answers a waiting request (P6). If
// no message is in flight and no user can act, no user waits (P4). Members send nothing that the others ignore.
//
// # Links that keep their order
//
// Members of protocol bakery send the messages of a term in envelopes, which are numbered for each link and only taken
// in turn; an envelope out of turn is sent again. So envelopes of one link arrive in turn here, and links interleave in
// every way: the model that has snaplock's hole. Envelope numbers, and the buffers for resending, do not distinguish
// states.
//
// The first answer ends a step of a ticket. A later one that changes nothing will never do so, and arrives as soon as
// it is next on its link (late, in world.go).
//
// # A crash
//
// With Crashes any one member crashes at any moment. Its messages arrive or not: a late envelope reaches a receiver
// that has accepted the view without its sender, and ignores it. Each of the others accepts that view at any later
// moment; when all have, it is open, and each learns that at any moment. Leaders are elected and hand over by messages
// that arrive in any order. A user of the crashed member counts as holding until the first member learns that the view
// is open.
//
// # Speed
//
// A machine meets the same event in many states. The result of a step is cached, so most steps are map lookups.
//
// # Files
//
//	config.go   configuration and report                 begin.go    the state before any user asks
//	explore.go  depth-first search                       world.go    a state, and its actions
//	shorten.go  the shortest run that breaks a promise   engine.go   the next state
//	judge.go    checks                                   crash.go    the crash of a member
//	rules.go    fields that do not distinguish states
package unordered
