package published

// heldByHoles names the test for most of the rules about how far clients may believe beyond their member's lease, and
// how long others wait for that.
const heldByHoles = "membership, TestHolesBite"

func pledges() []Row { return append(pledged(), remembered()...) }

// pledged has the holes of a member's promises to its clients.
func pledged() []Row {
	return []Row{
		{
			Rule: "clients freed at the lease", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Budget: 100,
			Hole: "What a lost member's clients hold is free when its lease has ended. " +
				"They were promised more than that, and believe it.",
		},
		{
			Rule: "promised before it is recorded", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A member promises its clients what it alone has written down. " +
				"It is lost, and no member waits for what it has promised.",
		},
		{
			Rule: "less is wanted, less is waited for", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: "session, TestShorterWish",
			Hole: "A member waits for less as soon as a client asks for a shorter ttl than before. " +
				"The longer one was promised, and the answer with the shorter one may be lost.",
		},
		{
			Rule: "what is held in memory is within what others wait for", Protocol: "central", Source: "found here", Breaks: "P3",
			Elsewhere: "session, TestLossWithLastingSpaces. A simulated member has one space",
			Hole: "A session with a long ttl has used durable spaces alone, so that no other member waits for it. " +
				"It is granted a name in memory, and its client believes in that for the whole ttl.",
		},
		{
			Rule: "a tied session ends with its member", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P3",
			Elsewhere: "session, TestTiedSessionsAreNotAdopted. A simulated member has one space",
			Hole: "A member that served a session in memory and in durable spaces is lost, and another one takes the session over. " +
				"It renews its client, which goes on believing in what it held in the memory of the first.",
		},
		{
			Rule: "a session is tied before it uses memory", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P3",
			Elsewhere: "session, TestTiedSessionsAreNotAdopted. A simulated member has one space",
			Hole: "A session that durable spaces have is granted a name in memory, and they do not know. " +
				"Its member is lost, and another one takes it for a session that has lost nothing.",
		},
		{
			Rule: "a session is ended before what has come for it is heard", Protocol: "central", Source: "found here", Breaks: "P5",
			Elsewhere: "sim, TestABusyMemberHearsWhatHasCome, and session, TestWhatIsHeardBeforeTheEndIsJudgedCounts",
			Hole: "A member that was busy ends a session whose time has passed meanwhile. " +
				"A heartbeat of it had come in time, and waited to be heard.",
		},
		{
			Rule: "the coordinator alone records", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A pledge counts when the coordinator has written it down, not a quorum. " +
				"The coordinator is lost with the member, and the next one does not know how long to wait.",
		},
		{
			Rule: "pledges counted before they are written", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A member says that it remembers a pledge when it has heard of it, not when its disk has it. " +
				"A quorum restarts, and has forgotten it.",
		},
	}
}

// remembered has the holes of the other members' memory of those promises.
func remembered() []Row {
	return []Row{
		{
			Rule: "promise without its pledges", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A candidate counts with the pledges that it knows itself. " +
				"Those that promise to follow it know of others, which they had written down for a quorum.",
		},
		{
			Rule: "view without its pledges", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A view is accepted without the pledges that its coordinator knows of. " +
				"It is installed, its coordinator is lost, and those that elect the next one have never heard of them.",
		},
		{
			Rule: "horizon remembered by a proposal", Protocol: "election", Source: "found here", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "While a coordinator changes the view, it promises clients what those in the new one remember. " +
				"The proposal is forgotten with its coordinator, and the next coordinator, elected by the former view, waits for less.",
		},
		{
			Rule: "a withdrawn pledge does not count", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A member that has withdrawn a pledge and makes it again relies on the first one, which a quorum has. " +
				"That quorum hears of the withdrawal, and of nothing after it.",
		},
		{
			Rule: "the last pledge to arrive wins", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "Of two pledges of one member the one that arrives last is believed, not the newer one. " +
				"A delayed message takes back what clients believe.",
		},
		{
			Rule: "pledges of the gone are forgotten", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "A new coordinator knows the pledges of the members of the view before. " +
				"One that the coordinator before had just counted out has clients that still believe.",
		},
		{
			Rule: "attendance forgets the longest promise", Protocol: "election", Source: "docs/design/membership.md §6", Breaks: "P3", Elsewhere: heldByHoles,
			Hole: "All founders are there in the place of a quorum that is lost with its memories, and wait for what they know. " +
				"What is forgotten was promised as well.",
		},
		{
			Rule: "one horizon for all", Protocol: "election", Source: "found here", Breaks: "P4", Elsewhere: heldByHoles,
			Hole: "A lost member is waited for as long as any member has promised to any client. " +
				"One client with a ttl of an hour stops every name for an hour, though its own member lives.",
		},
		{
			Rule: "pledges are never withdrawn", Protocol: "election", Source: "found here", Breaks: "P4", Elsewhere: heldByHoles,
			Hole: "A member that has once had a session with a long ttl is waited for as if it still had. " +
				"The session has ended long ago.",
		},
	}
}
