package published

import "github.com/holdfast-locks/holdfast/sim"

// bakery has the holes of snaplock: the one that its model has, and what a fix of it must not forget.
func bakery() []Row {
	return []Row{
		{
			Rule: "still entering from the own map", Protocol: "bakery", Source: "snaplock, W1", Breaks: "P1",
			Faults: "loss,one-way,partition", Members: 3, Bias: sim.Bias{Whole: true, Crowd: true, Often: 3}, Budget: 1, First: 30849, Rare: 8_000,
			Hole: "Whom a ticket waits for to choose a number is taken from its master's own book. " +
				"One that only the leader who answered knows of gets a smaller number afterwards, and both are locked.",
		},
		{
			Rule: "no memory of who has exited", Protocol: "bakery", Source: "snaplock, W1 half mended", Breaks: "P4", Budget: 300,
			Hole: "Whom a ticket waits for is taken from both books, as they are. " +
				"One that has exited here, and not yet there when the answer was sent, is waited for without end.",
		},
		{
			Rule: "a number outlives its term", Protocol: "bakery", Source: "the obvious hand-over", Breaks: "P5", Faults: "crash", Bias: sim.Bias{Crowd: true}, Budget: 200,
			Hole: "Leaders that have been elected begin all tickets again that are not locked, each its own. " +
				"Who had a number and was waiting gets a higher one than who has asked later, at a leader that was faster.",
		},
		{
			Rule: "all founders elect", Protocol: "bakery", Source: "snaplock, section 5", Breaks: "P4", Faults: "crash,pause,partition", Members: 3, Budget: 300,
			Hole: "A cluster of up to three founders elects leaders only when all of them are here. " +
				"One is away and another one has stood still or has started again, and no name is granted until the first one is back.",
		},
	}
}
