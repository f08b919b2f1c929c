package published

import "github.com/holdfast-locks/holdfast/sim"

// values has the rules of the values of grants, at an authority.
func values() []Row {
	return []Row{
		{
			Rule: "a report has the values", Protocol: "central", Source: "docs/design/promises.md, P11, ours", Breaks: "P11", Bias: sim.Bias{Values: true}, Budget: 1000,
			Hole: "What a member reports to a new authority has its locks without their values. " +
				"A leader has announced its address, and after the change of the coordinator no client can read it.",
		},
		{
			Rule: "a value is set when it can be read", Protocol: "central", Source: "docs/design/promises.md, P11, ours", Breaks: "P11", Bias: sim.Bias{Values: true}, Budget: 1000,
			Hole: "A member answers the holder before the coordinator has the new value. " +
				"A client that looks after that is shown the old one.",
		},
		{
			Rule: "an overtaken value has no effect", Protocol: "central", Source: "docs/design/promises.md, P11, ours", Breaks: "P11", Bias: sim.Bias{Values: true}, Budget: 2000,
			Hole: "The coordinator takes each value that arrives, in the order of their arrival. " +
				"A late copy of an earlier message sets the value back.",
		},
		{
			Rule: "no value is set before it serves", Protocol: "grantor", Source: "found by a seed", Breaks: "P11", Bias: sim.Bias{Values: true}, Budget: 3000,
			Hole: "A grantor that recovers tells a holder that its value is set while the lease of the grantor before goes on, which knows nothing of that. " +
				"A client that asks the one before is shown the old value.",
		},
	}
}
