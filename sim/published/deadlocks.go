package published

import "github.com/holdfast-locks/holdfast/sim"

// deadlocks are the rules of requests that would rather fail than wait in a deadlock, at an authority.
func deadlocks() []Row {
	return []Row{{
		Rule: "no willing request is left in a cycle", Protocol: "central", Source: "docs/decisions/617, ours", Breaks: "P4",
		Bias: sim.Bias{Deadlocks: true}, Budget: 200,
		Hole: "Two clients hold a lock each and wait for the other's, and one of them has asked to be refused then. " +
			"It waits on, and both are stuck until a limit ends it.",
	}}
}
