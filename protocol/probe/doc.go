// Package probe defines the optional information about a protocol for the simulator and the explorers (packages sim and
// sim/explore), beyond the common interface. Each protocol's package has a file probe.go with its [Probes], which its
// descriptor names. All of it is optional: a protocol without any is simulated, judged and explored all the same,
// except for the order of its queues, the cost of its messages, and coverage specific to it.
//
// A probe draws nothing, changes nothing and sends nothing: a run is the same whether or not anything reads a probe.
// Only [Probes.Draw] and [Probes.Tune] determine a run.
//
//	probe.go      all that there is        peers.go      where members ask one another
//	cost.go       messages of users' deeds transfers.go  where the authority is handed over
//	explored.go   for explorers            leaders.go    where leaders number tickets
package probe
