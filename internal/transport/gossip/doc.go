// Package gossip hints to a member's machine which members seem to be there.
//
// It runs hashicorp/memberlist, whose packets and connections travel on the members'
// own connections ([Links]): it has no port of its own, and a process that may not
// speak to the members may not gossip. What it finds reaches the machine as a
// [protocol.Hint] from [protocol.Rumour], and is nothing more: a hint is often late
// and sometimes wrong, and no lease, vote or lock depends on one. A program that
// drives machines by other means, as the simulator does, makes up hints of its own.
//
// Members are distinguished by the addresses at which they want to be reached, and hints
// name those.
package gossip
