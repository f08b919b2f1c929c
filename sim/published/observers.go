package published

import "github.com/holdfast-locks/holdfast/sim"

// observers are the rules by which a member shows the states of a name.
func observers() []Row {
	row := func(rule, hole string) Row {
		return Row{
			Rule: rule, Protocol: "central", Source: "docs/design/promises.md, P12, ours", Breaks: "P12",
			Bias: sim.Bias{Observers: true, Crowd: true}, Budget: 1000, Hole: hole,
		}
	}
	return []Row{
		row("a gap is reported", "The stream of a member's events breaks and comes back, and the next state looks like any other. "+
			"An observer that counts leaders counts too few, and does not know it."),
		row("no grant comes again", "A leader has resigned, and the event of its election arrives late. "+
			"Observers are shown that it leads, and send it their requests."),
		row("a late grant is not shown", "The event of an election arrives when a later leader was shown already, and has resigned. "+
			"Observers are shown the earlier leader after the later one."),
		row("a grant waits for the end of those before it", "The event of an election arrives before that of the former leader's end, from another member. "+
			"Observers are shown two leaders at a time."),
	}
}
