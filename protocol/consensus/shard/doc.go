// Package shard is one member's part in one replicated lock table: a Raft group (package group) that agrees
// on entries, a replica (package lock/replica) that they are applied to, and what the two need of each
// other. It is a part of a machine: all that goes in and out is values.
//
// # One page
//
//	own clients ──► Submit(operation) ──► the leader's queue ──► an entry ──► committed
//	                     │                                                       │
//	                     └── again, until it is seen applied ◄── Decisions, Results, at every member
//	own sessions ─► Beat ──► leader ──► a round of the group ──► Beaten
//	operators ─► ReadIndex ─► leader ──► a round of the group ──► applied so far ──► Answered
//
// # Operations
//
// A member numbers the operations of its clients, and sends them to the leader, again when another
// one leads, or when nothing was heard for an election timeout. The replica does each once
// (replica.OpID). Every decision comes out of every member's replica; each tells its own clients.
//
// The leader gathers what comes while its journal writes, and proposes it as one entry: so there is one
// sync for all that has come since the last, and an entry costs the group the same however much is in it.
// At most two entries are being written. An operation that no client waits for (a release of a name that
// no client wants, or a request that others stand before) waits a moment to go with one that a client
// does wait for (queue).
//
// # The leader's first entry
//
// A member that is elected begins a reign, and proposes nothing else until that entry is applied: all that
// others have written is before it, and so is the time that the table had come to. From then on the table's
// time goes on by the leader's clock. When a wait or a hold limit is over an entry says so, even if it has
// nothing else to say.
//
// # Sessions
//
// When a session was last heard no entry says: its member tells the leader that it beats, and only the leader
// knows its deadline, (1+δ)·ttl from when that came. A new leader gives every session that long from its
// first entry on: every session that the former one had heard has had a ttl from before that.
//
// A beat is acknowledged when a round of the group has confirmed that this member still led after the beat had
// come. So no later leader's first entry is before it, and every client's belief, a ttl from when it sent what was
// acknowledged, ends before the session does. Of a session that an entry under way ends no beat is
// acknowledged. Up to four rounds are under way at the same time.
//
// # Reads
//
// A read is answered when such a round is confirmed and this member has applied what was committed then. A
// member that does not lead asks the one that does for the index. So a leader that others have replaced
// gives no answer.
//
// The same holds for which answers a client may get: a member that comes back, or has fallen behind, applies again what was decided
// long ago. To a client that has come to it a member tells what is decided from the answer to a read on,
// and by the table what was decided before.
//
// # Snapshots
//
// When the log has grown by Config.Every entries, and by half of what the snapshot before has, the replica is copied, part by
// part as the journal writes them, while entries are applied (replica.Copy), and the copy is installed; of the log some entries
// stay for members that are a little behind. So a snapshot never stops the shard, and costs it a bounded share. A
// member that is further behind gets the parts, a window of them at a time: the first one alone, then 1 MiB or 64 parts ahead of
// what it has acknowledged, so that a link's round trips cost little. It takes them in any order, and acknowledges each, and so
// all before it, when its journal has them; where no answer comes for an election timeout the leader sends the window again.
// Behind the last one its group hears of them, and they are its state. One that has come further by itself says so. While a member takes
// parts the leader makes no other snapshot, and what a member lacks that it hears stays in the log, up to eight times
// Config.Every: a member far away catches up under load, too.
//
// # What it does not do
//
// It knows no spaces, names or owners' rights, and no client's secret but its hash; no member's
// address; no disk. The caller that brings a message says where it is from. A journal that fails
// ends the member: its owner stops asking it anything.
package shard
