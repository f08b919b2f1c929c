package published

import "github.com/holdfast-locks/holdfast/sim"

// consensusRows has rules that are easily forgotten between a replicated log and the grants that follow from it.
func consensusRows() []Row {
	return []Row{
		{
			Rule: "what is acknowledged is synced", Protocol: "consensus", Source: "Raft, section 10.2.1 of Ongaro's dissertation", Breaks: "P3", Budget: 2,
			// With partitions it shows soon. Without them, in some runs a leader and a member that has lost
			// acknowledged entries answer each other endlessly before that, and the hunt hangs. The first seeds show P2
			// once, and then the endless answers.
			Faults: "crash,partition,disk-slow,disk-lost,disk-torn", Bias: sim.Bias{AllFaults: true, Often: 4}, First: 13, Rare: 20,
			Hole: "A member acknowledges entries, and gives its vote, while its disk still writes them. " +
				"A power cut takes what others count on, and the grants that rest on it.",
		},
		{
			Rule: "every session has its whole ttl at a new leader", Protocol: "consensus", Source: "sessions over Raft", Breaks: "P3", Budget: 50, Bias: sim.Bias{Crowd: true},
			Hole: "A new leader counts a session's ttl from what the log says of it, which has no beats, and not from when it came to lead. " +
				"It ends sessions that the former leader has heard, and others get what their clients hold.",
		},
		{
			Rule: "a session is waited for on every clock", Protocol: "consensus", Source: "sessions over Raft", Breaks: "P3", Budget: 1500,
			Faults: "delay,drift,partition,one-way,pause", Bias: sim.Bias{AllFaults: true, Often: 4, Crowd: true},
			Hole: "A session is ended when its ttl is over by the leader's clock. " +
				"The client's is slower, and it believes a while longer.",
		},
		{
			Rule: "an unheard leader is reached through the coordinator", Protocol: "consensus", Source: "found in use", Breaks: "P4", Budget: 100,
			Faults: "partition,one-way",
			Hole: "A member speaks to the one that leads directly, or not at all. " +
				"One link is cut, a third member hears both, and the clients of the one that does not lead are not served for as long as that lasts.",
		},
		{
			Rule: "a leader outside of the view is relieved", Protocol: "consensus", Source: "found in use", Breaks: "P4", Budget: 300,
			Faults: "partition,one-way",
			Hole: "The coordinator drops a member that it does not hear, and others hear it and let it lead. " +
				"As long as the one link is cut the coordinator has no leader, and its clients are not served.",
		},
		{
			Rule: "nothing is held behind a name that is waited for", Protocol: "consensus", Source: "hold and wait, Havender 1968", Breaks: "P4", Budget: 100,
			Hole: "A client that asks for several names together keeps those that it was granted behind a refused one, and waits for that. " +
				"Two clients wait for a name of each other, and neither of them gets it.",
		},
		{
			Rule: "an operation acts once", Protocol: "consensus", Source: "Raft, section 6.3 of Ongaro's dissertation", Breaks: "P6",
			Hole: "An operation that was sent again, because it was late, is done again. " +
				"A lock is broken twice, and the second time it is another client's.",
			Elsewhere: "protocol/consensus/shard, TestHolesBite. Requests have numbers, too, so that what clients ask for acts once even so; what operators ask for has none but this",
		},
	}
}

// moved has rules that are easily forgotten when a session moves between members, and between clients.
func moved() []Row {
	return []Row{
		{
			Rule: "what is refused behind a hello is cancelled", Protocol: "consensus", Source: "found in use", Breaks: "P4", Budget: 250,
			Faults: "crash,one-way", Bias: sim.Bias{AllFaults: true},
			Hole: "A client says hello to another member and lists a request, which the member that it asked refuses before the welcome. " +
				"A later leader grants it, no client knows of the grant, and the name is taken until the session ends.",
		},
		{
			Rule: "another member may have renewed a holder", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P3", Faults: "delay,loss,crash",
			Hole: "A holder was told to stop through a member that it has left, which gives the name back at the end of its own promise. " +
				"Another member has promised the holder more just before it heard of that.",
			Elsewhere: "session, TestRevokedHolderMayHaveGoneElsewhere. In simulated runs a client seldom leaves a member just before",
		},
		{
			Rule: "a wish waits for its session", Protocol: "consensus", Source: "found by a seed", Breaks: "P4", Faults: "partition",
			Hole: "A client asks for a name through a member that is cut off, goes on through another one, and cancels the request there before the shard knows its session; " +
				"or it was granted the name, and releases it there before this member has heard of that. The name is taken until the session ends.",
			Elsewhere: "protocol/consensus, TestARequestWaitsForItsSession. One of some 20,000 seeds showed it",
		},
		{
			Rule: "a later hello is asked about anew", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P4",
			Hole: "A client says hello again while its session is moved to this member, and has settled a request since the first hello. " +
				"The spaces know the first hello alone, and keep what that request is granted later for a client that does not want it.",
			Elsewhere: "session, TestLaterHelloHasSettledMore. In simulated runs the spaces answer before a client says hello again",
		},
		{
			Rule: "a request says which client asks", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P6",
			Hole: "What a client has asked for through a member that is lost is granted after another client has taken its session over. " +
				"No client knows of the grant, and the name is taken until the session ends.",
			Elsewhere: "protocol/consensus, TestLateForClientBefore. In simulated runs a later client soon ends the session, and with it such a grant",
		},
		{
			Rule: "a leader says which client has a session", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P1",
			Hole: "A member hears its leader and has not yet got the entry by which a session is taken over. " +
				"It renews the client before, which goes on together with the later one.",
			Elsewhere: "protocol/consensus, TestLaggingMemberHearsOfTakeover. In simulated runs a member that hears its leader lags for too short a time",
		},
		{
			Rule: "a later client waits until the spaces know it", Protocol: "consensus", Source: "ours, of sessions", Breaks: "P1",
			Hole: "A member that cannot renew a session promises a later client of it what is left of the promise to the one before. " +
				"That one is renewed through another member, and both go on in one session.",
			Elsewhere: "session, TestTakerIsUnconfirmed",
		},
		{
			Rule: "a shard that comes back stays", Protocol: "consensus", Source: "found by a seed", Breaks: "P4", Faults: "drain,delay",
			Elsewhere: "protocol/consensus, TestThoseWhoDisagreeHandToAndFroOnce. One of some 20,000 seeds with all faults showed it",
			Hole: "Two members disagree on which of them is to lead a shard, and each hands it to the other in every round of spreading. " +
				"Each new leader counts anew how long a session has not been heard, so none that is over ends, and what it holds is granted to no client.",
		},
		{
			Rule: "who is to lead nothing says in which life", Protocol: "consensus", Source: "found by a seed", Breaks: "P4", Faults: "drain,delay",
			Elsewhere: "protocol/consensus, TestAMessageOfAnotherLifeIsNoneOfThisOne. One of some 20,000 seeds with all faults showed it",
			Hole: "A member that leaves tells the others that it is to lead nothing, starts again, and the word comes after that. " +
				"One of the others takes it for a word of this life, and gives the member no shard as long as it lives.",
		},
	}
}

// behind has rules that are easily forgotten when a member lags behind the others: its disk is slow, or it is or was
// far away.
func behind() []Row {
	return []Row{
		{
			Rule: "a snapshot is of its beginning", Protocol: "consensus", Source: "ours, of replicas", Breaks: "P1", Faults: "crash,delay",
			Hole: "A snapshot is written bit by bit while entries are applied. It is taken for one of the moment at which it is complete, " +
				"so a member that starts again from it lacks what was decided meanwhile.",
			Elsewhere: "protocol/consensus/shard, TestASnapshotIsOfItsBeginning",
		},
		{
			Rule: "a slow member catches up", Protocol: "consensus", Source: "found in use", Breaks: "P4", Faults: "crash,delay",
			Hole: "A leader makes its next snapshot while a member that is far away still takes the last one, or drops the entries behind that. " +
				"Under load the member needs another snapshot as soon as it has one, and never hears what its clients were granted.",
			Elsewhere: "protocol/consensus/shard, TestASlowMemberCatchesUp. In simulated runs the load is seldom high for long enough: about one of 4,000 shows it",
		},
		{
			Rule: "what is revoked is held", Protocol: "consensus", Source: "found by a seed", Breaks: "P6", Faults: "pause,partition,operator",
			Hole: "A member takes a snapshot in which a request of its own process was granted, hears next that an operator has broken the hold, and takes the request for one that waits. " +
				"The process releases it; when its session ends the request is asked for again and granted, and no user of the process knows.",
			Elsewhere: "protocol/consensus, TestWhatIsRevokedIsHeld. One of some 10,000 seeds showed it",
		},
		{
			Rule: "a whole snapshot is heard of in each term", Protocol: "consensus", Source: "found by a seed", Breaks: "P4", Faults: "crash,disk-slow",
			Hole: "A member stores the last part of a snapshot when the term of its leader is over, and Raft does not listen to it. The same member leads again and sends the parts " +
				"once more: they are there, and so they are answered, and the member that is behind stays behind.",
			Elsewhere: "protocol/consensus/shard, TestAWholeSnapshotIsHeardOfInEachTerm. One of some 20,000 seeds showed it",
		},
		{
			Rule: "late answers to beats count", Protocol: "consensus", Source: "found here", Breaks: "P4",
			Hole: "A member that has waited for the answer to a beat for as long as a leader may be silent says it again, and takes the answer to the first for none. " +
				"Where answers take a little longer than that no beat is ever confirmed, and each session of the member's ends.",
			Elsewhere: "protocol/consensus, TestLateAnswersToBeatsCount. One of some 5,000 seeds showed it, where no member had measured round trips either",
		},
		{
			Rule: "a grant that was asked for elsewhere is confirmed", Protocol: "consensus", Source: "found by a seed", Breaks: "P3", Faults: "delay,drift,crash",
			Elsewhere: "protocol/consensus, TestAGrantThatWasAskedForElsewhereIsConfirmed. One of some 100,000 seeds with all faults showed it",
			Hole: "A client makes a request with a hold limit through one member and then through another one, which is behind and does not know since when the limit counts. " +
				"That member says that the name is granted when the limit is over, and another client has the name.",
		},
		{
			Rule: "a takeover ends no grant of another member", Protocol: "consensus", Source: "found by a seed", Breaks: "P3", Faults: "delay,operator",
			Elsewhere: "protocol/consensus, TestATakeoverEndsNoGrantOfAnotherMember. One of some 40,000 seeds with all faults showed it",
			Hole: "A client asks through a member that is cut off, and again through another one, which grants it; then another client takes the session over. " +
				"The first member hears of both at once, and ends the request, because no call waits for it there: the client before believes in it still.",
		},
	}
}
