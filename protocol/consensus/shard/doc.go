// Package shard implements one member's copy of a replicated lock table: a Raft group (package group) that agrees on
// entries, a replica (package lock/replica) that applies them, and the connection between the two. It is a part of a
// machine: all its inputs and outputs are values.
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
// A member numbers the operations of its clients, and sends them to the leader, again when another one leads, or when
// nothing was heard for an election timeout. The replica does each once (replica.OpID). Every member's replica outputs
// every decision; each member informs its own clients.
//
// The leader gathers operations while its journal writes, and proposes them as one entry: there is one sync for all
// operations since the last, and an entry costs the group the same however much it contains. At most two entries are
// being written. An operation that no client waits for (a release of a name that no client wants, or a request that
// others are ahead of) waits a moment to go with one that a client does wait for (queue).
//
// # The leader's first entry
//
// An elected member begins a reign, and proposes nothing else until that entry is applied: everything that others have
// written is before it, and so is the table's latest time. From then on the table's time follows the leader's clock.
// When a wait limit or a hold limit has passed, an entry records it, even if it has nothing else to record.
//
// # Sessions
//
// No entry records when a session was last heard: its member reports the beat to the leader, and only the leader knows
// its deadline, (1+δ)·ttl from the arrival of the report. A new leader gives every session that long from its first
// entry on: every session that the former one had heard has had a ttl from before that.
//
// A beat is acknowledged when a round of the group has confirmed that this member still led after the beat had arrived.
// No later leader's first entry is therefore before it, and every client's belief, a ttl from when it sent the
// acknowledged beat, ends before the session does. If an entry in progress ends a session, its beats are not
// acknowledged. Up to four rounds are in progress at the same time.
//
// # Reads
//
// A read is answered when such a round is confirmed and this member has applied the entries committed then. A member
// that does not lead asks the leader for the index. A replaced leader therefore gives no answer.
//
// The same holds for the answers that a client may get: a member that returns, or has fallen behind, reapplies old
// decisions. A member therefore passes on decisions to a newly connected client only from the answer to a read on, and
// reports earlier decisions from the table.
//
// # Snapshots
//
// When the log has grown by Config.Every entries, and by half the size of the previous snapshot, the replica is copied,
// part by part as the journal writes them, while entries are applied (replica.Copy), and the copy is installed; some
// entries stay in the log for members that are a little behind. A snapshot thus never stops the shard, and costs it a
// limited share. A member that is further behind gets the parts, a window of them at a time: first one alone, then 1
// MiB or 64 parts ahead of its acknowledgement, so that a link's round trips cost little. It accepts them in any order,
// and acknowledges each, and so all before it, when its journal has them; if no answer comes for an election timeout
// the leader resends the window. After the last one the member's group learns of them, and they are its state. A member
// that is further ahead reports that itself. While a member receives parts the leader makes no other snapshot. If a
// member is heard but lacks entries, these stay in the log, up to eight times Config.Every: a distant member catches up
// under load, too.
//
// # What it does not do
//
// It knows no spaces, names or owners' rights, no client's secret except its hash, no member's address, and no disk.
// The caller that passes in a message names its sender. A journal that fails ends the member: its owner makes no
// further calls.
package shard
