package published

// views has the holes of the obvious design of views and elections, by their numbers in
// the design.
func views() []Row {
	return []Row{
		{
			Rule: "role counted on a proposal", Protocol: "election", Source: "docs/design/membership.md §9, V11", Breaks: "P1", Budget: 200,
			Hole: "While a coordinator changes the view, the answers of those in the new one keep up its role. " +
				"One that has slept proposes a view of itself alone, accepts it, and is its own quorum for ever.",
		},
		{
			Rule: "promise forgotten", Protocol: "central", Source: "docs/design/membership.md §9, V4", Breaks: "P2", Budget: 800,
			Hole: "What a member has promised is not on its disk when it says so. " +
				"It restarts, promises another candidate the same, and two coordinate.",
		},
		{
			Rule: "acceptance forgotten", Protocol: "central", Source: "docs/design/membership.md §9, V5", Breaks: "P2", Budget: 400,
			Hole: "Which view a member has accepted is not on its disk when it says so. " +
				"It restarts, and is part of a quorum that knows nothing of the view that it has made possible.",
		},
		{
			Rule: "second bootstrap", Protocol: "election", Source: "docs/design/membership.md §9, V9", Breaks: "P1", Budget: 20,
			Hole: "Members that know no view form the first one when a majority of them is there. " +
				"Two that have lost their memory do so while the third still holds.",
		},
		{
			Rule: "epoch check off", Protocol: "election", Source: "docs/design/membership.md §9, V10", Breaks: "P1", Budget: 300,
			Hole: "A member that has promised itself to a new coordinator still follows the old one's messages. " +
				"What the old one grants then is believed together with what the new one grants.",
		},
		{
			Rule: "id from the name", Protocol: "central", Source: "docs/design/membership.md §9, V14", Breaks: "P6", Budget: 100,
			Hole: "A member that has lost its cell has the same id as before. " +
				"It is taken for its former self, votes on what that had promised, and gives numbers for a second time.",
		},
		{
			Rule: "epoch from memory", Protocol: "central", Source: "docs/design/membership.md §9, V17", Breaks: "P2", Budget: 300,
			Hole: "Members that have forgotten what they served take the next epoch after those that other members still know. " +
				"It was served before, and tokens go back.",
		},
		{
			Rule: "guests vote", Protocol: "election", Source: "docs/design/membership.md §9, V18", Breaks: "P1", Budget: 400,
			Faults: "leave,crash", Members: 5, Bias: often(),
			Hole: "Every member of a view votes on the next one. " +
				"When the founders have gone one by one, guests go on with a quorum of their own, and the founders that come back with another one.",
		},
	}
}

// successions has the holes in the succession of views.
func successions() []Row {
	return []Row{
		{
			Rule: "old view next to an installed one", Protocol: "election", Source: "docs/design/membership.md §9, V23", Breaks: "P1", Budget: 100,
			Hole: "A candidate that learns of a newer view, which is installed, starts from its own older one all the same. " +
				"A quorum of that is none of the newer one.",
		},
		{
			Rule: "equal counters", Protocol: "central", Source: "docs/design/membership.md §9, V25", Breaks: "P2", Budget: 200,
			Faults: "partition,any", Bias: often(),
			Hole: "Epochs of one number differ by their candidates, and both are followed. " +
				"Two authorities of one reign count tokens each for itself, and tokens go back.",
		},
		{
			Rule: "chain of uninstalled views", Protocol: "election", Source: "docs/design/membership.md §9, V27", Breaks: "P1", Budget: 100,
			Hole: "A view that follows one which was never installed asks only that one's quorum. " +
				"The last view that was installed knows nothing of either, and goes on.",
		},
		{
			Rule: "quorum of the new view alone", Protocol: "election", Source: "docs/design/membership.md §4", Breaks: "P1", Budget: 100,
			Hole: "A change of the view is installed when a quorum of the new one has accepted it. " +
				"A coordinator that is cut off shrinks the view until it is a quorum by itself.",
		},
		{
			Rule: "no full attendance", Protocol: "election", Source: "docs/design/membership.md §5", Breaks: "P4", Budget: 50,
			Hole: "All founders being there does not replace a quorum that was lost with their memories. " +
				"No member can ever be elected again.",
		},
		{
			Rule: "phase 1 asks too few", Protocol: "election", Source: "docs/design/membership.md §7.2", Breaks: "P4", Budget: 100,
			Hole: "A member that hears of no coordinator begins an election, though a quorum still has one. " +
				"It promises itself out of the cluster, or keeps the others from ever being led.",
		},
		{
			Rule: "epoch not raised", Protocol: "election", Source: "docs/design/membership.md §9, liveness", Breaks: "P4", Budget: 300,
			Hole: "A coordinator does not go above the epoch that a member has promised while it was cut off. " +
				"That member can never be admitted again.",
		},
		{
			Rule: "surveys are numbered through all lives", Protocol: "permission", Source: "found by a seed", Breaks: "P10", Faults: "misfit,crash,pause",
			Hole: "A founder that starts again numbers its surveys from 1, and takes late answers to those of its life before for answers to them. " +
				"A founder that was configured otherwise then, and is not any more, counts with one that is now, and the one that is right is refused.",
			Elsewhere: "membership, TestAnswersToAnotherLifeAreVoid. One of some 500,000 seeds with all faults showed it",
		},
	}
}

// found has bugs of this project that the simulator has found.
func found() []Row {
	return []Row{
		{
			Rule: "candidate without a disk", Protocol: "election", Source: "found here", Breaks: "P4", Budget: 2500, Faults: "disk-full,crash",
			Hole: "A member whose disk is full stands for election, again and again. " +
				"Its own promise is never written, so it cannot win; and all that give it theirs are halted.",
		},
		{
			Rule: "coordinator without a disk", Protocol: "election", Source: "found here", Breaks: "P4", Budget: 1100, Faults: "disk-full,crash",
			Hole: "A coordinator whose disk is full keeps its role, though it can propose nothing. " +
				"No member can be admitted any more, and what lost members held is never free.",
		},
		{
			Rule: "candidacy outlives the promise", Protocol: "central", Source: "found here", Breaks: "P2", Budget: 1100, Asserted: true,
			Hole: "A candidate that promises itself to another one goes on with its own election. " +
				"It wins under an epoch below the one that it follows, and its tokens would go back: a machine notices and stops.",
		},
		{
			Rule: "forced view behind a leaver's back", Protocol: "central", Source: "found here", Breaks: "P1",
			Hole: "A forced view needs no member's agreement, not even that of one which was named for it and is leaving. " +
				"It restarts with the view before in its cell, and is a quorum of that by itself: two authorities.",
			Elsewhere: "membership, TestHolesBite. One of 20,000 seeds showed it, by a run that goes otherwise since other rules were added: two of five or more must be left, one of them senior and leaving in the moment in which a view of both is forced",
		},
		{
			Rule: "leaver answers for what is not written", Protocol: "central", Source: "found here", Breaks: "P1",
			Hole: "A member that leaves repeats that it has accepted a view which its full disk has not written. " +
				"It installs the view so, restarts with the one before in its cell, and is a quorum of that by itself: two authorities.",
			Elsewhere: "membership, TestHolesBite. One of 17,000 seeds showed it, by a run that goes otherwise since leavers hear at once that they are out: two of five must be left in a view that was forced through the junior one, and the senior leave with a full disk",
		},
		{
			Rule: "hearsay makes a member of a cluster", Protocol: "election", Source: "found here", Breaks: "P4",
			Hole: "A founder without a cell hears a late message of a cluster that is over, because all founders have lost their cells since, and takes that for its own. " +
				"The cluster that the founders have formed after it is another one, which it can never join.",
			Elsewhere: "membership, TestHolesBite. A fresh seed of claim showed it: a message must be under way while every founder loses its cell, and one of them twice",
		},
		{
			Rule: "own promise outlives the lease", Protocol: "central", Source: "found here", Breaks: "P4", Budget: 600,
			Hole: "A candidate whose lease ends between its own promise and its win goes on. " +
				"Its view has it under the tenure that has ended, so it leads without a lease, for ever.",
		},
		{
			Rule: "patience follows round trips", Protocol: "election", Source: "found here", Breaks: "P4", Budget: 300, Faults: "delay",
			Hole: "Answers are waited for as long as is configured, however long a message takes there and back. " +
				"Where links are slow they come when their phase is over, and no view is ever formed.",
		},
		{
			Rule: "who preempts has measured nothing", Protocol: "grantor", Source: "found here", Breaks: "P4",
			Hole: "The member of the highest id takes the place of a coordinator that is well, and waits for promises for as long as is configured. " +
				"It has asked nothing before, and does not know that links are slow: in partition any it leads alone, and the sides meet again.",
			Elsewhere: "membership, TestHolesBite. One of 23,000 seeds of grantor with all faults showed it, 8,000 that are bent towards it do not: the view must be left just when an operator asks",
		},
		{
			Rule: "a void election starts again at once", Protocol: "election", Source: "found here", Breaks: "P4",
			Hole: "A coordinator whose election was void, because the lease of a member had ended meanwhile, waits and asks all how they are before it stands again. " +
				"Where a round trip takes a fifth of the lease the leases of other members end in that time, and the next election is void as well, for ever.",
			Elsewhere: "membership, TestHolesBite. 6,000 seeds whose links are far show nothing since a member that merges sides waits for slow answers",
		},
		{
			Rule: "told before it is written", Protocol: "election", Source: "found here", Breaks: "P4", Budget: 1, First: 3801, Rare: 4_000, Faults: "disk-full,crash,partition",
			Hole: "A coordinator tells others of a view that its own disk has not taken, and never will. " +
				"Any view that is to replace that one needs its promise, and so no other member can be elected.",
		},
		{
			Rule: "opening a view that is not written", Protocol: "central", Source: "found here", Breaks: "P4", Budget: 3000, Asserted: true,
			Faults: "disk-full,crash,partition", Bias: often(),
			Hole: "A coordinator alone asks to be woken when its view may be opened, though only its disk can help: the view is not written yet. " +
				"It asks again in the same instant, and does nothing else for ever.",
		},
	}
}
