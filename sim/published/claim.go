package published

import "github.com/holdfast-locks/holdfast/sim"

// claim has rules that are easily forgotten in locks over a store: of Titan's ConsistentKeyLocker itself, and of the
// additions to it.
func claim() []Row {
	crowd := sim.Bias{Crowd: true}
	return []Row{
		{
			Rule: "a write may take less than the wait by the skew", Protocol: "claim", Source: "Titan's ConsistentKeyLocker", Breaks: "P1", Budget: 1, First: 4726, Rare: 5_000,
			Faults: "delay,skew", Bias: sim.Bias{AllFaults: true, Tight: true},
			Hole: "A claim that took as long to write as all wait before they look counts. " +
				"A rival whose clock is ahead has looked before it was there, and both enter.",
		},
		{
			Rule: "no bid begins while a claim is held by", Protocol: "claim", Source: "Titan's ConsistentKeyLocker, W5", Breaks: "P1", Budget: 20, Bias: crowd, Asserted: true,
			Hole: "A process claims for one of its clients while another one holds, as where the mediator's refusal is ignored. " +
				"Both claims have one rid, so the later one passes the former over, and both would hold: a machine notices and stops.",
		},
		{
			Rule: "each process has a rid of its own", Protocol: "claim", Source: "Titan's ConsistentKeyLocker, misconfigured", Breaks: "P1", Budget: 50, Bias: crowd,
			Hole: "Two processes are called the same. " +
				"Each takes the other's claims for its own, which it passes over.",
		},
		{
			Rule: "tokens rise above the mark", Protocol: "claim", Source: "Titan's ConsistentKeyLocker, with its timestamps as tokens", Breaks: "P2", Budget: 500,
			Hole: "A grant's token is the timestamp of its claim, even where an earlier grant had a higher one. " +
				"A process that comes later with a clock that is behind has a lower one.",
		},
		{
			Rule: "no other claim stands between a claim and its renewal", Protocol: "claim", Source: "renewal, ours", Breaks: "P1", Budget: 500, Bias: crowd,
			Hole: "A holder renews its claim though another process's claim is between the two. " +
				"That one is the oldest when the first expires, and both hold.",
		},
		{
			Rule: "a claim stays while clients may believe", Protocol: "claim", Source: "sessions over claims, ours", Breaks: "P1", Budget: 2000,
			Faults: "delay,partition,one-way,pause", Bias: sim.Bias{AllFaults: true, Often: 4, Crowd: true},
			Hole: "What a member's clients hold is deleted as soon as its lease ends. " +
				"They have not heard of it yet, and another process enters.",
		},
		{
			Rule: "a lease is waited for on every clock", Protocol: "claim", Source: "leases by compare-and-set", Breaks: "P1", Budget: 4000,
			Faults: "delay,drift,store-slow", Bias: sim.Bias{AllFaults: true, Crowd: true, Keep: true},
			Hole: "A cell is taken over when it has not changed for its lease, by the clock of the process that waits. " +
				"The holder's clock is slower, and it believes a while longer.",
		},
		{
			Rule: "a cell names the last token that it is kept for", Protocol: "claim", Source: "holding on, ours", Breaks: "P2", Budget: 200,
			Hole: "A process counts by itself the tokens of what it keeps, beyond the one that it has written. " +
				"When it has crashed, the process that takes the cell over goes on from there, and gives them again.",
		},
		{
			Rule: "a process that is not known to have ended lives", Protocol: "claim", Source: "lock files with the number of a process", Breaks: "P3", Budget: 20, Bias: crowd,
			Hole: "The store has no record of a living holder, and a process that waits takes that for the holder's end. " +
				"The holder has its record under another name, or keeps none because its clients outlive it, and both hold.",
		},
		{
			Rule: "a value is set when the store has it", Protocol: "claim", Source: "values of grants, ours", Breaks: "P11", Budget: 20,
			Hole: "A process answers a client that sets a value as soon as it knows the value itself. " +
				"Other processes read the store, which still has the former one, or never gets the new one because the process crashes.",
		},
	}
}
