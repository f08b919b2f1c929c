// Package group implements one member of one Raft group: it agrees with the others on the entries of a log. It wraps
// go.etcd.io/raft's RawNode in time, messages and writes that are values, in the form that machines use: no goroutine,
// no clock, no disk.
//
// # One page
//
//	Hear(message)   what another member says      ─►  Output.Messages   to others
//	Propose(entry)  leader: append it             ─►  Output.Writes     to the journal, each answered by Written
//	Read(id)        leader: am I still?           ─►  Output.Entries    committed, to be applied, in their order
//	Tick(now)       time has come                 ─►  Output.Reads      confirmed
//	Written(id)     the journal has synced it
//
// Writes are asynchronous: a leader sends its entries to the others while its own disk writes them. The group
// acknowledges nothing, and gives no vote, before the write that it depends on has been answered (Ongaro's
// dissertation, section 10.2.1). Any number of writes may be in progress; the journal answers them in order.
//
// # Time
//
// A follower that has not heard its leader for an election timeout E forgets it, and votes for any candidate. It
// becomes a candidate itself after a time between E and 2·E, drawn from a seed. Both count from when it last heard the
// leader, by its own clock. RawNode would count ticks and draw from the operating system's randomness, which no seed
// can repeat, so followers never tick. A leader ticks once in each Heartbeat: it sends beats, and steps down when a
// quorum was silent for E (CheckQuorum). A candidate first asks whether it could be elected (PreVote, section 9.6), so
// a returning one does not disturb a leader that others hear.
//
// E is a second between machines in one room, and up to ten times as long with slow round trips, which each member
// measures (pace.go).
//
// # What is committed
//
// A leader informs the others that an entry is committed with the next entries, or after Config.Linger, unless its
// owner knows that a client waits for it there ([Group.FlushCommit]).
//
// # Reads
//
// [Group.Read] returns the index up to which a state must have been applied to be as new as anything acknowledged
// before the call: a round of beats shows that no other leader was elected before it (ReadIndex, section 6.4). It
// relies on no clock. The same round shows that this member was the leader at the moment of the call.
//
// # Snapshots
//
// Entries older than a snapshot are dropped from the log ([Group.Compact]), except for some that can be sent to members
// that are a little behind. A member that needs dropped entries gets a snapshot: the group requests it
// (Output.Snapshots), and its owner transfers the contents and passes the message to the other member's Hear. The
// contents become that member's state when its journal has them.
//
// # Members
//
// A group begins with its voters, the same at each of them ([Founding]). Later members are first added as learners,
// which have the log and no vote; voters are added and removed by joint consensus, so that changing several at once is
// as safe as changing one (section 4.3).
//
// # Bounds
//
// Entries are in memory from the snapshot on; [Group.Behind] returns their number, for the owner to decide on another
// snapshot. [Config].Uncommitted limits the proposed and uncommitted entries, and Inflight those in flight to a member;
// beyond that, Propose refuses with [ErrBusy].
package group
