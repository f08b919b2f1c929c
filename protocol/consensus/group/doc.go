// Package group is one member's part in one Raft group: it agrees with the others on the entries of a log. It
// puts go.etcd.io/raft's RawNode behind time, messages and writes that are values, as machines have
// them: no goroutine, no clock, no disk.
//
// # One page
//
//	Hear(message)   what another member says      ─►  Output.Messages   to others
//	Propose(entry)  leader: append it             ─►  Output.Writes     to the journal, each answered by Written
//	Read(id)        leader: am I still?           ─►  Output.Entries    committed, to be applied, in their order
//	Tick(now)       time has come                 ─►  Output.Reads      confirmed
//	Written(id)     the journal has synced it
//
// Writes are asynchronous: a leader sends its entries to the others while its own disk takes them, and
// nothing is acknowledged, nor a vote given, before the write that it depends on has been answered
// (Ongaro's dissertation, section 10.2.1). Any number of writes may be under way; the journal answers them in
// their order.
//
// # Time
//
// A follower that has not heard its leader for an election timeout E forgets it, and votes for any member
// that asks. It asks itself after a time between E and 2·E, drawn from a seed. Both count from when it heard
// the leader last, by its own clock. RawNode would count ticks and draw from the operating system's
// randomness, which no seed can repeat; so followers never tick. A leader ticks once in each Heartbeat: it
// beats, and steps down when a quorum was silent for E (CheckQuorum). A candidate asks first whether it could
// be elected (PreVote, section 9.6), so one that comes back does not disturb a leader that others hear.
//
// E is a second between machines of one room, and up to ten times as long where round trips are: each member measures them (pace.go).
//
// # What is committed
//
// A leader tells the others that an entry is committed with the next entries, or after Config.Linger, unless its owner knows
// that a client waits for it there ([Group.FlushCommit]).
//
// # Reads
//
// [Group.Read] tells the index up to which a state must have been applied to be as new as any that was
// acknowledged before the call: a round of beats shows that no other leader was elected before it
// (ReadIndex, section 6.4). No clock is believed. The same round shows that this member was the leader at the
// moment of the call.
//
// # Snapshots
//
// What is older than a snapshot is dropped from the log ([Group.Compact]), but for some entries that members
// who are a little behind can be sent. Who needs what is not there any more is sent a snapshot: the group
// says so (Output.Snapshots), its owner brings the content over and lets the other member Hear the message,
// which makes that the other's state when its journal has it.
//
// # Members
//
// A group begins with its voters, the same at each of them ([Founding]). Later ones are added first as
// learners, which have the log and no vote; voters are added and removed by joint consensus, so that
// several at once are as safe as one (section 4.3).
//
// # Bounds
//
// Entries are in memory from the snapshot on; [Group.Behind] says how many, for the owner to make another
// snapshot. What is proposed and not committed is bounded by [Config].Uncommitted, what is on the way to a
// member by Inflight; beyond, Propose refuses with [ErrBusy].
package group
