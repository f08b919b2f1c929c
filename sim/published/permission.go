package published

// permission has the holes of the algorithms without a coordinator: of Ricart and Agrawala's as it is taught, of
// Raymond's and Raynal's as they are easily misread, and of the addition of views to them.
func permission() []Row {
	return []Row{
		{
			Rule: "clock follows the last message", Protocol: "permission", Source: "Ricart and Agrawala, course notes", Breaks: "P1", Budget: 50,
			Hole: "A clock is set to the higher of this member's last stamp and the last one that was heard, so that an older one sets it back. " +
				"The next request has a stamp as old as the holder's, and both enter.",
		},
		{
			Rule: "one counter for replies", Protocol: "permission", Source: "Raymond, read with one counter", Breaks: "P1", Budget: 600,
			Hole: "Of K entries, replies are counted, and not told apart by the request that they answer. " +
				"A late reply to a former request counts for the present one, and lets one more in than there are entries.",
		},
		{
			Rule: "a debt is a flag", Protocol: "permission", Source: "Raynal, read with a boolean", Breaks: "P4", Faults: "duplicate,reorder", Budget: 100,
			Hole: "That a peer was deferred is a flag, and a request is sent once, as published. " +
				"A peer that asks for units again while the same one still has something before it gets one answer for two requests, that to the first, and waits for ever.",
		},
		{
			Rule: "request sent once", Protocol: "permission", Source: "Ricart and Agrawala, Raymond, Raynal", Breaks: "P4", Faults: "loss", Budget: 20,
			Hole: "A request is sent once, because links lose nothing. " +
				"One does, and the member that waits for the answer waits for ever.",
		},
		{
			Rule: "own clients before those deferred", Protocol: "permission", Source: "Roucairol and Carvalho, read greedily", Breaks: "P5", Budget: 100,
			Hole: "A member that keeps permissions lets its own next client in before it answers the members that it has deferred. " +
				"A client that asked later, at the right member, comes first, again and again.",
		},
		{
			Rule: "a member that has left is not waited for", Protocol: "permission", Source: "docs/design/membership.md §7.5", Breaks: "P1", Budget: 50,
			Hole: "A member that asks needs the permission of the members of the view alone. " +
				"One that the view has dropped still holds, until its lease ends.",
		},
		{
			Rule: "a holder replies to an older stamp", Protocol: "permission", Source: "Ricart and Agrawala, in views", Breaks: "P1", Budget: 100,
			Hole: "A holder defers only requests that have a younger stamp than its own. " +
				"One that asks by an older one is let in with it.",
		},
		{
			Rule: "members stay that do not hear each other", Protocol: "permission", Source: "links, ours", Breaks: "P4",
			Faults: "partition,one-way,disk-full", Budget: 1, First: 3777, Rare: 4_000,
			Hole: "The view keeps each member that its coordinator hears. " +
				"Two members that do not hear each other, while it hears both, wait for each other's permission for as long as that lasts.",
		},
		{
			Rule: "tokens of the lost not outrun", Protocol: "permission", Source: "tokens, ours", Breaks: "P2", Budget: 100,
			Hole: "A view without some members goes on from the clocks of the others. " +
				"No other member may have heard of the last tokens that the lost have given, and they are given again.",
		},
	}
}

// permissionClocks has the holes of clocks, and of the uniqueness of tokens.
func permissionClocks() []Row {
	return []Row{
		{
			Rule: "a clock that was not heard bounds tokens", Protocol: "permission", Source: "tokens, found by a seed", Breaks: "P2", Faults: "loss,one-way,preempt",
			Hole: "A newcomer loses a member whose clock it has not heard yet, and outruns it from its own clock. " +
				"The lost member's clock was as far ahead already, because it had outrun another one, and its last tokens are given again.",
			Elsewhere: "protocol/permission, TestConversations (views_tokens.txt). One of some 100,000 seeds with all faults showed it",
		},
		{
			Rule: "tokens are ahead of a newcomer", Protocol: "permission", Source: "tokens, found by reading", Breaks: "P2", Faults: "preempt",
			Hole: "A member gives tokens without regard to a newcomer that has heard its clock and has asked for nothing since. " +
				"After a million of them the newcomer outruns less than was given when it loses that member.",
			Elsewhere: "protocol/permission, TestConversations (views_tokens.txt). It takes a million grants, more than a script or a picture can show",
		},
		{
			Rule: "slots ask every member", Protocol: "permission", Source: "Roucairol and Carvalho, with Raynal's units", Breaks: "P3", Faults: "loss",
			Hole: "A permission that is kept lets its member use units too, though its giver has asked for some by an older stamp. " +
				"The two fit together, and not together with a third member that has counted the giver alone.",
			Elsewhere: "protocol/permission, TestConversations (retain.txt). One seed with all faults showed it, and some 9,000 others did not",
		},
		{
			Rule: "slots are sent under one view", Protocol: "permission", Source: "found by a seed", Breaks: "P2", Faults: "crash,join,loss",
			Elsewhere: "protocol/permission, TestConversations (number.txt). One of some 100,000 seeds with all faults showed it",
			Hole: "Members that have no number for their tokens yet leave one to each that stands before them, and a member that was left one is lost under the next view. " +
				"One member has taken its number under the view before and another one takes it under this one: both take the same, and give one token twice.",
		},
	}
}
