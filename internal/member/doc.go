// Package member is what a member is made from, and how.
//
// A [Config] is a member at its start, as plain values: who it is, who the others are, what
// it is configured with and what it remembers. Together with an [Entropy], which draws what
// cannot be known before, it makes the machines of one life of the member:
//
//	session.Machine
//	   protocol.Stack(membership, space, space, …)
//
// Everything that the machines ever take from outside is in these two and in the events
// that they are stepped with. So a program that has written all of that down can make
// the same machines and let them do the same again (packages trace and sim/replay).
// Package host, the simulator and the replay all build here: there is no second way.
//
// Which machine stands for a space, the [protocol.Descriptor] of its protocol says. [Protocols] lists
// those that members run.
package member
