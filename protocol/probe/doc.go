// Package probe is what the simulator and the explorers (packages sim and sim/explore) may know of a protocol in addition to
// what every protocol answers to. Each protocol's package has a file probe.go with its [Probes], which
// its descriptor names. All of it is optional: a protocol without any is simulated, judged and explored all the same, except
// for the order of its queues, what its messages cost, and coverage of what it alone does.
//
// A probe draws nothing, changes nothing and sends nothing: a run is the same whether or not anything is read off
// it. [Probes.Draw] and [Probes.Tune] alone say how a run is to be.
//
//	probe.go      all that there is        peers.go      where members ask one another
//	cost.go       messages of users' deeds transfers.go  where the authority is handed over
//	explored.go   for explorers            leaders.go    where leaders number tickets
package probe
