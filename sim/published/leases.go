package published

import "github.com/holdfast-locks/holdfast/sim"

// leases has the holes of the obvious design of leases, by their numbers in the design.
func leases() []Row {
	return []Row{
		{
			Rule: "lease counted from receipt", Protocol: "election", Source: "docs/design/membership.md §9, V1", Breaks: "P1", Budget: 50,
			Hole: "A member's lease counts from when the poll that renews it arrives. " +
				"A poll that was delayed renews it beyond what the coordinator's successor waits for.",
		},
		{
			Rule: "role cap off", Protocol: "election", Source: "docs/design/membership.md §9, V2", Breaks: "P1", Budget: 1000,
			Hole: "A lease is as long as ever, though the role of the coordinator that gives it is nearly over. " +
				"One that is cut off with a single loyal member renews that one until long after the others have elected.",
		},
		{
			Rule: "survivors end their locks", Protocol: "central", Source: "docs/design/membership.md §9, V3", Breaks: "P9", Budget: 20,
			Faults: "crash", Survive: true,
			Hole: "The new coordinator does not echo the clocks of the survivors, so their leases end while it waits for those of the dead. " +
				"Every crash of a coordinator ends every lock.",
		},
		{
			Rule: "an earlier client is refused", Protocol: "central", Source: "found in use", Breaks: "P1", Budget: 50,
			Hole: "A client whose session another one has taken over takes the end of its stream for an outage, and resumes the session. " +
				"Each of the two takes it back from the other, again and again, and both believe that they hold what it holds.",
		},
		{
			Rule: "an inherited name is kept for the client before", Protocol: "central", Source: "found in use", Breaks: "P3", Budget: 1, First: 267, Rare: 250,
			Hole: "A client takes a session over and releases a lock of it, which is free at once. " +
				"The client before, which has not heard yet that it has lost the session, works on at the same time as the next holder.",
		},
		{
			Rule: "a leaver counts what is lost as stopped", Protocol: "bakery", Source: "found here", Breaks: "P1",
			Hole: "A member that leaves has told its clients to stop, and loses their grants before they have answered, because a view without it has come. " +
				"It says that it holds nothing, and the names are free while a client that was not heard believes in them.",
			Elsewhere: "session, TestConversations (cluster/leave_lost.txt). One of some 100,000 seeds with all faults showed it",
		},
		{
			Rule: "release by another client goes unreported", Protocol: "central", Source: "ours, of sessions", Breaks: "P3", Budget: 50,
			Faults: "operator",
			Hole: "Another client with a session's credentials releases a lock that the session's own client uses, and it is free at once. " +
				"A third client is granted it, while the one that was never told works on.",
		},
		{
			Rule: "an owner stays within its quota", Protocol: "central", Source: "ours, of sessions", Breaks: "P8", Budget: 100,
			Hole: "A client opens sessions and asks for locks until the member has no room for more. " +
				"All other clients are refused, although they have little.",
		},
		{
			Rule: "what has ended is not charged", Protocol: "central", Source: "ours, of sessions", Breaks: "P8", Budget: 100,
			Hole: "A client releases its locks, and its member still counts them. " +
				"It is refused another one because of its quota, although it has none.",
		},
		{
			Rule: "session outlives the lease", Protocol: "election", Source: "docs/design/membership.md §9, V6", Breaks: "P3", Budget: 60,
			Faults: "crash,pause", Bias: sim.Bias{AllFaults: true, Often: 5},
			Hole: "A client gets the ttl that it wants, however little is left of its member's lease. " +
				"It believes in its lock when the others have counted that member out.",
		},
		{
			Rule: "leaving counts as proof", Protocol: "election", Source: "docs/design/membership.md §9, V7", Breaks: "P3", Budget: 400,
			Faults: "leave,delay", Bias: often(),
			Hole: "A member that leaves is taken to hold nothing more. " +
				"Its clients have not heard of that, and believe until their deadlines.",
		},
		{
			Rule: "restart counts as proof", Protocol: "election", Source: "docs/design/membership.md §9, V7 and V15", Breaks: "P3", Budget: 50,
			Hole: "A member that is back after a crash is taken to hold nothing more, so its names are freed at once. " +
				"Its clients' processes did not crash, and believe until their deadlines.",
		},
	}
}

// tenures has the holes of members that restart, and of members that wait for others.
func tenures() []Row {
	return []Row{
		{
			Rule: "bootstrap at once", Protocol: "election", Source: "docs/design/membership.md §9, V16", Breaks: "P3", Budget: 500,
			Faults: "crash,amnesia", Members: 3, Bias: often(),
			Hole: "Members that know no view grant as soon as they have formed the first one. " +
				"All have restarted without memory within a second, and a client of their former life still holds.",
		},
		{
			Rule: "same tenure after a lapse", Protocol: "election", Source: "docs/design/membership.md §9, V12 and V19", Breaks: "P4", Budget: 50,
			Hole: "A member whose lease has ended goes on under the same tenure when it has another one. " +
				"What it has ended the coordinator still lists, and a grant from before is taken for one of now.",
		},
		{
			Rule: "session outlives its tenure", Protocol: "election", Source: "docs/design/membership.md §9, V20", Breaks: "P3", Budget: 50,
			Hole: "The sessions of clients live on when the tenure of their member has ended. " +
				"They are renewed by a member that no view has under the tenure in which they believe.",
		},
		{
			Rule: "dropped member renewed", Protocol: "central", Source: "docs/design/membership.md §9, V24", Breaks: "P1", Budget: 2000,
			Hole: "A candidate gives a place, and a lease, to a member that promised to it but that the newest view has dropped. " +
				"The old coordinator counts that member out meanwhile, and frees its names.",
		},
		{
			Rule: "dropped tenure admitted again", Protocol: "election", Source: "docs/design/membership.md §9, V28", Breaks: "P1", Budget: 300,
			Hole: "A member that was dropped after a pause wakes with a rest of its lease, and is admitted as it is. " +
				"Polls renew it while its former place is counted out, and its names are freed under it.",
		},
		{
			Rule: "a place without a lease outlives a quorum", Protocol: "bakery", Source: "docs/design/membership.md §9, V29", Breaks: "P2",
			Hole: "A member that never had a lease keeps its place until it takes another view, though the others may have gone on without it and lost their cells since. " +
				"Leaders that come back so under a view without a quorum go on with the tokens of their term, which are lower than those of the leaders between.",
			Elsewhere: "membership, TestHolesBite. It was found by reading: most leaders must have places and no lease, while the others go on, elect leaders of their own and lose all cells, or are lost before a view is forced",
		},
		{
			Rule: "no drift margin", Protocol: "central", Source: "docs/design/membership.md §1", Breaks: "P1", Budget: 200,
			Hole: "A member that waits for a lease to end waits as long as its holder counts, though its clock may be the faster one. " +
				"The holder still counts when the other has waited.",
		},
		{
			Rule: "exclusion wait off", Protocol: "election", Source: "docs/design/membership.md §7.5", Breaks: "P1", Budget: 20,
			Hole: "A coordinator grants as soon as it is elected. " +
				"A member that was cut off from the election has a lease of its predecessor, and holds under it.",
		},
		{
			Rule: "open ignored", Protocol: "central", Source: "docs/design/membership.md §9, V26", Breaks: "P1", Budget: 100,
			Hole: "A coordinator that all of the former view follow does not wait, though that view was still waiting itself. " +
				"It grants what a member of the view before holds.",
		},
	}
}
