package published

import "github.com/holdfast-locks/holdfast/sim"

// agreed has what is easily left out between a log that members agree on and the locks that are told from it.
func agreed() []Row {
	return []Row{
		{
			Rule: "what is acknowledged is synced", Protocol: "consensus", Source: "Raft, section 10.2.1 of Ongaro's dissertation", Breaks: "P3", Budget: 50,
			// With partitions it shows soon. Without, in some runs before that, a leader and a member that has lost what it had
			// acknowledged answer each other without end, and the hunt with them.
			Faults: "crash,partition,disk-slow,disk-lost,disk-torn", Bias: sim.Bias{Whole: true, Often: 4},
			Hole: "A member acknowledges entries, and gives its vote, while its disk still writes them. " +
				"A power cut takes what others count on, and locks that were told with it.",
		},
		{
			Rule: "every session has its whole ttl at a new leader", Protocol: "consensus", Source: "sessions over Raft", Breaks: "P3", Budget: 50, Bias: sim.Bias{Crowd: true},
			Hole: "A new leader counts a session's ttl from what the log says of it, which has no beats, and not from when it came to lead. " +
				"It ends sessions that the former leader has heard, and others get what their clients hold.",
		},
		{
			Rule: "a session is waited for on every clock", Protocol: "consensus", Source: "sessions over Raft", Breaks: "P3", Budget: 1500,
			Faults: "delay,drift,partition,one-way,pause", Bias: sim.Bias{Whole: true, Often: 4, Crowd: true},
			Hole: "A session is ended when its ttl is over by the leader's clock. " +
				"The client's is slower, and it believes a while longer.",
		},
		{
			Rule: "who is not heard is reached through the coordinator", Protocol: "consensus", Source: "found in use", Breaks: "P4", Budget: 100,
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
			Rule: "an operation acts once", Protocol: "consensus", Source: "Raft, section 6.3 of Ongaro's dissertation", Breaks: "P6",
			Hole: "An operation that was sent again, because it was late, is done again. " +
				"A lock is broken twice, and the second time it is somebody else's.",
			Elsewhere: "protocol/consensus/shard, TestHolesBite. Requests have numbers, too, so that what clients ask for acts once even so; what operators ask for has none but this",
		},
	}
}
