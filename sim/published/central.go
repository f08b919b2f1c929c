package published

import "github.com/holdfast-locks/holdfast/sim"

// central has the holes of JGroups' CENTRAL_LOCK2, by their numbers in the package comment
// of protocol/central.
func central() []Row {
	return []Row{
		{
			Rule: "H3", Protocol: "central", Source: "CENTRAL_LOCK2, H3", Breaks: "P3", Budget: 150,
			Faults: "none", Members: 5, Bias: sim.Bias{Crowd: true, Strand: true},
			Hole: "A member that has answered the new coordinator's LOCK-INFO-REQ still takes a grant of the old one that comes late. " +
				"The new coordinator, which has heard that the member waits, gives the lock to another client.",
		},
		{
			Rule: "missing responder ignored", Protocol: "central", Source: "CENTRAL_LOCK2, H9", Breaks: "P3", Budget: 100,
			Hole: "A new coordinator goes on without the members that have not yet told it what they hold. " +
				"It grants a lock that one of them still holds, without a word to its holder.",
		},
		{
			Rule: "H4", Protocol: "central", Source: "CENTRAL_LOCK2, H4", Breaks: "P4", Budget: 100,
			Hole: "A member reports a lock that it is giving back as held. " +
				"The new coordinator takes it for held, and no client is left to give it back: those that wait are stranded.",
		},
		{
			Rule: "revocation is advisory", Protocol: "central", Source: "CENTRAL_LOCK2, H2", Breaks: "P3", Budget: 100,
			Hole: "A lock that is taken from its holder is free as soon as the holder was sent word of that. " +
				"Another client is granted it while the holder, which has not heard yet, still works.",
		},
		{
			Rule: "every side grants", Protocol: "central", Source: "CENTRAL_LOCK2, H1", Breaks: "P1", Budget: 50,
			Hole: "The first member of each view coordinates, majority or not. " +
				"Each side of a partition then has a coordinator that grants, and one lock has two holders.",
		},
		{
			Rule: "unlock told once", Protocol: "central", Source: "CENTRAL_LOCK, JGRP-2234", Breaks: "P4", Budget: 100,
			Hole: "An unlock is sent once, and forgotten. " +
				"If it is lost with its message or with the coordinator, the name stays taken by a client that has long gone on.",
		},
		{
			Rule: "release answered before it is taken", Protocol: "central", Source: "java.util.concurrent.locks.Lock, unlock", Breaks: "P4", Budget: 400,
			Hole: "A member answers a release before the authority has taken it. " +
				"A client that tries the lock after that answer is refused, because the lock is held by a session that has released it.",
		},
		{
			Rule: "grant told once", Protocol: "central", Source: "docs/design/membership.md §9, liveness", Breaks: "P4", Budget: 400,
			Hole: "A grant is sent once, and not repeated until it is taken or given back. " +
				"If it is lost, the name is held by a member that still waits for it.",
		},
		{
			Rule: "token counter in memory", Protocol: "central", Source: "docs/design/verification.md §3, ours", Breaks: "P2", Budget: 50,
			Hole: "Tokens are counted by the coordinator in memory, without a reign in front. " +
				"Its successor begins anew, and a store that compares tokens refuses the rightful holder, or lets the former one write.",
		},
		{
			Rule: "unconfirmed grants renewed", Protocol: "central", Source: "docs/design/membership.md §9, V13", Breaks: "P1",
			Hole: "A holder that missed an election is admitted while its old lease runs, and renewed with a grant that no other member knows. " +
				"The new authority grants the name again.",
			Elsewhere: "protocol/central, TestMutationsAreFound, and membership, TestHolesBite. A coordinator admits no member before all old leases have run out, so that this rule is the second of two that prevent it",
		},
		{
			Rule: "client deadline counted from receipt", Protocol: "central", Source: "docs/design/membership.md §6, V6", Breaks: "P3", Budget: 900,
			Hole: "A client counts its session from when it hears the answer, not from when it asked. " +
				"An answer that was long under way lets it believe for longer than its member waits.",
		},
	}
}

// often is a bias with all faults in every run, four times as often.
func often() sim.Bias { return sim.Bias{AllFaults: true, Often: 4} }

// election has the holes of the course notes' variation of Garcia-Molina's election.
func election() []Row {
	return []Row{
		{
			Rule: "no member-side check", Protocol: "election", Source: "Garcia-Molina, course notes", Breaks: "P4", Budget: 50,
			Hole: "Only the coordinator polls; a member that hears nothing more does not ask whether it is still there. " +
				"A member whose coordinator is lost stays with it for ever.",
		},
		{
			Rule: "no coordinator in the poll's answer", Protocol: "election", Source: "Garcia-Molina, course notes", Breaks: "P4", Budget: 20,
			Faults: "partition,any", Bias: often(),
			Hole: "The answer to a poll says how a member is, and not which coordinator it follows. " +
				"Two coordinators that a partition has left behind never learn of each other: both go on for ever.",
		},
		{
			Rule: "patience below a round trip", Protocol: "election", Source: "Garcia-Molina, course notes: T < 2D", Breaks: "P4", Budget: 20,
			Hole: "The answers of a phase are waited for no longer than a message takes there and back. " +
				"Elections fail one after the other.",
		},
	}
}
