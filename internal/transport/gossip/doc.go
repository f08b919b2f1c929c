// Package gossip hints to a member's machine which members seem to be up.
//
// It runs hashicorp/memberlist, whose packets and connections travel on the members' own connections ([Links]): it
// needs no port, and a process that may not talk to the members may not gossip. Its findings reach the machine as a
// [protocol.Hint] from [protocol.Rumour], and are only hints: often late, sometimes wrong, and no lease, vote or lock
// depends on them. A program that drives machines by other means, such as the simulator, generates its own hints.
//
// Members are identified by their advertised addresses, and hints carry those.
package gossip
