// Package member builds the machines of a member from its configuration.
//
// A [Config] is a member at its start, as plain values: its identity, the other members, its configuration and what it
// remembers. Together with an [Entropy], the source of random values, it makes the machines of one life of the member:
//
//	session.Machine
//	   protocol.Stack(membership, space, space, …)
//
// These two and the events of each step are the machines' only input. So a program that has recorded them can build the
// same machines and repeat their run exactly (packages trace and sim/replay). Package host, the simulator and the
// replay all build their members here.
//
// The [protocol.Descriptor] of a space's protocol makes its machine. [Protocols] lists the protocols that members run.
package member
