package published

// grantor has the holes of Geode's distributed lock service, by their numbers in the list of hazards of its
// description, and the rule for the start of a grantor.
func grantor() []Row {
	return []Row{
		{
			Rule: "versions restart at 1", Protocol: "grantor", Source: "Geode, H3", Breaks: "P4", Budget: 100,
			Hole: "The grantors of a new elder are numbered as if there had been none before. " +
				"A member that has heard of a higher number takes them for stale, and refuses all that they say.",
		},
		{
			Rule: "stale grant accepted", Protocol: "grantor", Source: "Geode, H3", Breaks: "P3", Budget: 100,
			Faults: "operator,crash,delay,reorder",
			Hole: "A holder takes the word of a grantor that was replaced since, however late it comes, and is granted a lock by it. " +
				"The new grantor knows nothing of that, and grants the name again.",
		},
		{
			Rule: "cancelled wait sends no cancel", Protocol: "grantor", Source: "Geode, H2", Breaks: "P4", Budget: 100,
			Hole: "A client that gives up waiting, at a member that does not grant, tells that member alone, which drops the grant that comes for it. " +
				"The grantor has granted the name to a client that does not want it, and those that wait are stranded.",
		},
		{
			Rule: "recovery skipped", Protocol: "grantor", Source: "Geode, sections 5 and 6", Breaks: "P3", Budget: 100,
			Hole: "A grantor that follows one that has crashed begins with an empty table, and asks no member what its clients hold. " +
				"It grants what others hold.",
		},
		{
			Rule: "lent tokens not outrun", Protocol: "grantor", Source: "holding on, ours", Breaks: "P2", Budget: 100,
			Hole: "A member that holds on to a grant gives it to its clients under tokens that it counts itself. " +
				"When it gives the grant back the grantor goes on from the token that it gave, and gives those in between again.",
		},
		{
			Rule: "refused break not sent again", Protocol: "grantor", Source: "operators, ours", Breaks: "P4", Budget: 100,
			Hole: "What an operator asks of a member that follows a former grantor still is refused by that one. " +
				"It is not sent to the one that grants now: nothing is broken or resumed, and the operator hears that the space is unavailable.",
		},
		{
			Rule: "break sent on unanswered", Protocol: "grantor", Source: "operators, ours", Breaks: "P6", Budget: 3000,
			Hole: "A break that was sent to a grantor, and not answered yet, is sent to its successor as well. " +
				"Both execute it, and the second time it ends the lock of another holder.",
		},
		{
			Rule: "a break is forgotten with its view", Protocol: "grantor", Source: "operators, ours", Breaks: "P6",
			Elsewhere: "protocol/grantor, TestABreakIsRememberedBeyondTheView. In simulated runs a member seldom misses the very view that has lost it: about one of 12,000 shows it",
			Hole: "A grantor that has executed a break, and whose answer was lost, forgets it when a view has the member no more that asked. " +
				"Where that member has not seen the view it comes back and asks on, and the break is executed again, by this grantor or its successor.",
		},
		{
			Rule: "late copy asked anew", Protocol: "grantor", Source: "repetition, ours", Breaks: "P5",
			Elsewhere: "protocol/central, TestLateCopiesAreAskedAnew. Seed 1549 showed it, by a run that goes otherwise since other rules were added",
			Hole: "A request is sent again until it is answered, and a copy that comes after its refusal is taken for a request. " +
				"It takes a place in the queue though its client has given up, and the next request of its owner enters with it, before others.",
		},
	}
}

// grantorLate has rules for late messages when a reign continues under another epoch, or another one follows it.
func grantorLate() []Row {
	return []Row{
		{
			Rule: "a report stays as it is until it is known", Protocol: "grantor", Source: "found by a seed", Breaks: "P4", Faults: "delay,loss",
			Elsewhere: "protocol/grantor, TestConversations (report_again.txt). One of some 100,000 seeds with all faults showed it",
			Hole: "A grantor whose reign goes on under another epoch asks again for a report that is under way, and the member makes a new one. " +
				"The grantor takes the one that comes first, and what else the other one has is granted to no client.",
		},
		{
			Rule: "a second report is confirmed wish by wish", Protocol: "grantor", Source: "found by reading", Breaks: "P4", Faults: "delay,loss",
			Elsewhere: "authority, TestASecondReportIsConfirmedWishByWish. It takes a copy of a report that is late by two views",
			Hole: "A grantor that has seen a member leave asks it for another report, and takes a late copy of the first one for it. " +
				"What the member waits for and has released since is taken for known: a request is never granted, or a name never freed.",
		},
		{
			Rule: "a table is kept for no reign of before", Protocol: "grantor", Source: "found by a seed", Breaks: "P4", Faults: "reorder,delay",
			Elsewhere: "protocol/grantor, TestConversations (overtaken.txt). One of some 100,000 seeds with all faults showed it",
			Hole: "A member is named grantor, and the next one before it has heard of that: it never asks for the table that another member keeps for it. " +
				"That one keeps the table, and says that the space is transferring, for as long as the view stays.",
		},
		{
			Rule: "a grantor of an epoch before is not followed", Protocol: "grantor", Source: "found by a seed", Breaks: "P4", Faults: "delay,one-way",
			Elsewhere: "protocol/grantor, TestAGrantorOfAnEpochBeforeIsNotFollowed. Two of some 100,000 seeds with all faults showed it",
			Hole: "An elder names a grantor under a view that is never installed, and a member hears of that under the next epoch. " +
				"Its version is above that of the grantor that the elder of that epoch knows: the member takes no word of this one, and asks the elder again for ever.",
		},
		{
			Rule: "a doubt outlasts a reign", Protocol: "grantor", Source: "found by a seed", Breaks: "P4", Faults: "operator,leave",
			Elsewhere: "protocol/grantor, TestConversations (doubt.txt). One of some 100,000 seeds with all faults showed it",
			Hole: "A grantor is deposed for another one and that for a third, which leaves the view, and a member whose clients wait hears of the second one only after that. " +
				"It follows that one and asks it nothing, and no client of its is granted anything until one asks for something else.",
		},
		{
			Rule: "a doubt ends with its answer", Protocol: "grantor", Source: "found by reading", Breaks: "P4", Faults: "operator,leave,loss",
			Elsewhere: "protocol/grantor, TestConversations (late_depose.txt). It takes a word that is late by a view, and an answer that is lost",
			Hole: "A member asks its grantor whether that still decides, and takes a word for the answer that the grantor had sent before it was deposed. " +
				"The true answer is lost, the question is not repeated, and the clients that wait at the member wait for good.",
		},
		{
			Rule: "a vouch waits for its view", Protocol: "grantor", Source: "found by reading", Breaks: "P4", Faults: "operator,leave,delay",
			Elsewhere: "protocol/grantor, TestConversations (late_depose.txt). It takes a view and a Depose that both come late to the grantor",
			Hole: "A grantor says that it still decides, to a member that has a view without the next grantor, before it has that view itself. " +
				"It makes way for that next grantor after that, and no member grants or asks anything any more.",
		},
		{
			Rule: "a grantor deposed for one that has left asks", Protocol: "grantor", Source: "found by reading", Breaks: "P4", Faults: "operator,leave,delay",
			Elsewhere: "protocol/grantor, TestConversations (late_depose.txt). It takes a Depose that comes after the view without its heir",
			Hole: "A grantor has said under the newest view that it still decides, and makes way then for a member that this view has no more. " +
				"Members whose clients wait do not ask again, and no member is named grantor.",
		},
		{
			Rule: "a reentry gets no more than its holder had", Protocol: "grantor", Source: "found by a seed", Breaks: "P3", Faults: "delay,drift",
			Elsewhere: "protocol/grantor, TestConversations (reentry.txt). One of some 100,000 seeds with all faults showed it",
			Hole: "A grantor takes over what its own clients hold, with limits that it counts longer because the other clocks may be slower, and a client enters its grant again before the lease of the grantor before has ended. " +
				"It gets what is left by the new table, and the grantor before ends the grant earlier and grants the name to another client.",
		},
		{
			Rule: "an heir keeps the limit that was given", Protocol: "grantor", Source: "found by reading", Breaks: "P3", Faults: "operator,delay",
			Elsewhere: "protocol/grantor, TestConversations (reentry.txt). It takes a transfer between a reentry and the word of it, and a grant that lasts to its limit after that",
			Hole: "A member inherits the table, and has not heard yet that a request of its client, with another hold limit, has entered a grant. " +
				"The client gets the limit of its request, and goes on believing when the grant's limit is over and the name is granted to another client.",
		},
		{
			Rule: "no limit is extended before it serves", Protocol: "grantor", Source: "found by reading", Breaks: "P1", Faults: "delay,suspicion",
			Elsewhere: "protocol/grantor, TestConversations (extend.txt). It takes a grantor that is dropped and goes on, an extension, and a client of that grantor that waits",
			Hole: "A grantor that recovers extends a hold while the lease of the grantor before goes on, which knows nothing of that. " +
				"The one before ends the grant at the limit that it knows, and grants the name to a client of its own.",
		},
	}
}
