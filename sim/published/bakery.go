package published

import "github.com/holdfast-locks/holdfast/sim"

// bakery has the holes of snaplock: that of its model, and those that a fix of it must avoid.
func bakery() []Row {
	return []Row{
		{
			Rule: "still entering from the own map", Protocol: "bakery", Source: "snaplock, W1", Breaks: "P1",
			Faults: "loss,one-way,partition", Members: 3, Bias: sim.Bias{AllFaults: true, Crowd: true, Often: 3}, Budget: 1, First: 4279, Rare: 8_000,
			Hole: "The tickets that a new one waits for, until they have chosen their numbers, are taken from its master's own book. " +
				"One that only the answering leader knows of gets a smaller number afterwards, and both are locked.",
		},
		{
			Rule: "no memory of exited tickets", Protocol: "bakery", Source: "snaplock, W1 half mended", Breaks: "P4", Budget: 300,
			Hole: "The tickets that a new one waits for are taken from both books, as they are. " +
				"One that has exited here, and not yet there when the answer was sent, is waited for without end.",
		},
		{
			Rule: "a number outlives its term", Protocol: "bakery", Source: "the obvious hand-over", Breaks: "P5", Faults: "crash", Bias: sim.Bias{Crowd: true}, Budget: 200,
			Hole: "Leaders that have been elected begin all tickets again that are not locked, each its own. " +
				"A client that had a number and was waiting gets a higher one than a client that has asked later, at a leader that was faster.",
		},
		{
			Rule: "a name is kept for its grace", Protocol: "bakery", Source: "snaplock, UNLOCKED", Breaks: "P3", Budget: 50,
			Hole: "A lock whose hold limit has passed is free as soon as its holder was told to stop. " +
				"The name is granted to another in the grace that its holder has for that.",
		},
		{
			Rule: "a link catches up", Protocol: "bakery", Source: "found in use", Breaks: "P4", Faults: "loss",
			Hole: "When a letter is lost, the oldest letters are sent again, so many at a time as after every pause. " +
				"Under many requests at once the other end stays behind, and what clients have asked for is answered late or never.",
			Elsewhere: "sim, TestABurstIsAnswered, by seeds, and protocol/bakery, TestALinkCatchesUp. It takes thousands of requests, more than a script or a picture can show",
		},
		{
			Rule: "a link waits for a round trip", Protocol: "bakery", Source: "retransmission timers, RFC 6298", Breaks: "P4", Faults: "loss,delay",
			Hole: "A letter is sent again after a fixed while, however long a round trip is. " +
				"Over a slow link each letter is sent before its confirmation can have come, and a link that is behind never sends more than a few letters at a time.",
			Elsewhere: "protocol/bakery, TestALinkWaitsForARoundTrip. It takes thousands of requests over slow links, more than a script or a picture can show",
		},
		{
			Rule: "all founders elect", Protocol: "bakery", Source: "snaplock, section 5", Breaks: "P4", Faults: "crash,pause,partition", Members: 3, Budget: 300,
			Hole: "A cluster of up to three founders elects leaders only when all of them are here. " +
				"One is away and another one has stood still or has started again, and no name is granted until the first one is back.",
		},
	}
}

// bakeryTerms has the holes at the change from one term to the next.
func bakeryTerms() []Row {
	return []Row{
		{
			Rule: "the first leader names what is held", Protocol: "bakery", Source: "found by a seed", Breaks: "P4", Faults: "loss,one-way",
			Hole: "Leaders that follow no other leaders take what is held from each member's claim, and the first of them alone says when it has ended. " +
				"A member is lost after the others had its claim and before the first one had it: its lock ends nowhere, and the name is granted to no client any more.",
			Elsewhere: "protocol/bakery, TestConversations (named.txt). One of some 5,000 seeds with all faults showed it, and 70,000 more did not",
		},
		{
			Rule: "a leader that serves says so until others are elected", Protocol: "bakery", Source: "found by a seed", Breaks: "P4", Faults: "loss",
			Hole: "A leader says once that it has come to serve, and takes the answer to what it said before for the answer to that. " +
				"Where a leader was lost no new one is elected, and what members had asked the lost one for is never granted.",
			Elsewhere: "protocol/bakery, TestConversations (serves.txt). One of some 100,000 seeds with all faults showed it",
		},
		{
			Rule: "a master knows what it has ended", Protocol: "bakery", Source: "found by a seed", Breaks: "P4", Faults: "reorder,one-way,leave",
			Hole: "The master of a ticket has refused it, and takes it over again from a leader that has not heard of that. " +
				"The other new leaders have dropped it, because its master did not name it, and agree to nothing: its name is never granted again.",
			Elsewhere: "protocol/bakery, TestConversations (ended.txt). One of some 300,000 seeds with all faults showed it",
		},
		{
			Rule: "no ticket goes past one that is held", Protocol: "bakery", Source: "found by a seed", Breaks: "P3", Faults: "reorder,one-way,leave",
			Hole: "The master of a ticket has refused it, the ticket behind it is locked, and then the master is lost. " +
				"A leader that has not heard of the refusal hands the first ticket over, and it is granted together with the one that is held, because its number is lower.",
			Elsewhere: "protocol/bakery, TestConversations (held.txt and the others there). One of some 12,000 seeds with all faults showed it",
		},
		{
			Rule: "a word that was not taken ends with its leaders", Protocol: "bakery", Source: "found by a seed", Breaks: "P2", Faults: "join,force",
			Hole: "A member without a lease hears that its lock is granted, and takes it when it has a lease, though the leaders that said so are gone by then. " +
				"Other members went on without it in a later epoch and lost all that they knew, and its token is below theirs.",
			Elsewhere: "protocol/bakery, TestConversations (untaken.txt). One of some 100,000 seeds with all faults showed it",
		},
	}
}
