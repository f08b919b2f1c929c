// Package consensus implements a replicated state machine: the lock table, and the sessions of its clients, are
// replicated by Raft and kept on disks. Holders survive the loss of any minority, the restart of all members, and the
// loss of the member that they were connected to.
//
// A client of member b takes a lock, while a leads the Raft group of its shard:
//
//	client → b   lock "X"
//	     b → a   Forward   the operation                   a follower forwards to the leader
//	  a → b, c   RaftMessage  the entry                    synced by a quorum, each on its own disk
//	     a → b   RaftMessage  it is committed              b applies the entry to its copy of the table
//	b → client   granted, token 3:1                        by b, from its own copy
//
// # One page
//
//	client ── lock.Request ──► Machine ── operation ──► shard ──► who leads it ──► an entry
//	                             │                                                    │ synced by a quorum
//	client ◄── Granted ────── Machine ◄── decisions ── shard ◄── applied, at every member
//
// A space has one shard or several, each with its own part of the names: a Raft group, a replica of a lock table and a
// log of the member's journal (package shard; package group describes the use of Raft, and lock/replica the effects of
// entries). All members participate in each shard, and any of them may lead any. This package combines them into the
// machine of a space: which shard has a name, which clients get which answers from this member, and operators' calls.
//
// # What is answered when
//
// Every answer waits until the operation is applied here: committed, so synced by a quorum, and applied to this
// member's copy. A request is answered at once with Queued, at position −1, and later with its outcome. A Cancel is
// also answered when it is applied, and not at all if its session is no longer served here by then: with an earlier
// answer, another member that serves the client could still grant it the request. While no decision comes, a request is
// refused and given up some time after its wait limit. A request that its client has also made through another member
// is not answered: it may already hold, and its client continues there, because its beats are not answered either. A
// removed member serves no clients.
//
// Every member's copy makes the same decisions; each member passes them only to the sessions that it serves. It serves
// those that were enrolled here ([protocol.Enroll]) or adopted ([protocol.Adopt]), as long as they are not dismissed.
// When a snapshot replaces a copy, decisions between the two do not come out: then the member compares its knowledge of
// each request with the copy, and repeats the rest. An operation that arrives twice acts once (package replica).
//
// # Sessions
//
// A session is known to every shard that it has used: an entry opens it there before its first request. From then on
// the leader ends it when it has not been heard for (1+δ)·ttl. The member that serves it reports when it was heard
// ([protocol.Beat]). A few such messages are in flight to the leader at the same time; reports that arrive while all of
// them are go together in the next. The answer comes when a round of the group has shown that the leader that received
// the beat still led: two round trips after the beat, as long as there are few.
//
// A session moves: another member adopts it when its client connects there, after asking the group whether it is alive.
// Requests keep their numbers, so a request made through both members acts once. A grant to a request that its client
// has settled in the meantime is returned. A request in its client's list may still be granted, so its client cancels
// it here if another member has refused it since. If this member refuses a request at once, and the other member's
// grant arrives late, this member returns the grant.
//
// For the sessions of this process (Enroll.Own) the machine sends the beats. Their users compare the clock with
// [Machine.Assured]; at that time all their locks are reported lost, and the session continues under another name in
// the group, because its earlier one may have been ended there.
//
// # Suspensions
//
// Every shard has the space's own name (lock.SpaceLock), and a session that holds it in all suspends the space. The
// shards are asked in order, each once no other suspension comes first in the previous one. The suspension that is
// first in the first shard is therefore first in all, two suspensions do not wait for each other, and soon no shard
// grants anything new while something is still held in one of them. The suspension's turn among the requests of a shard
// counts from its arrival there. The client sees one request, under the token of the last shard. It ends in all when it
// ends in one: when it is given up, broken, or refused because of its wait limit. Operators also see one; a suspension
// that has some of the shards counts as waiting.
//
// A session that holds something in one shard, and needs more in another one to release it, is let through the other's
// gate, as with a single shard (lock.Table.LetIn): a suspension thus waits only for an end that comes.
//
// The machine does all this rather than the caller. It hears of events in each shard, continues when a session is
// adopted or has to continue under another name, and is the only part that knows of shards.
//
// The end of a tenure affects no client: leases have no meaning here.
//
// # The beginning
//
// The first voters of a space are the founders. When this member's view has all of them for the first time, it writes
// their ids as the beginning of each log, and participates once that is synced. All founders write the same; one that
// misses that view learns it from a founder that had it, or from the current voters. The ids together form the
// cluster's number, which every message between members and everything stored carries. If a member began with other
// founders, because a folder was lost, replaced or copied from elsewhere, the others ignore it, and it reports that
// ([protocol.Condition]).
//
// # Who votes
//
// An operator adds a member as a learner, which gets the log and has no vote; makes it a voter when it has the log; and
// removes it ([protocol.Reform]). The member that receives the call asks the leader of each shard, repeatedly until all
// have done it or one names an obstacle: only a learner that lacks at most a few entries can become a voter; a majority
// of the resulting voters must have been heard recently; the last voter stays. A leader that is to be removed first
// hands over. The answer reports that the leader remembers the change as committed, so a removed member can be switched
// off.
//
// A member that is not a founder has an empty log, and no role until it is added; it learns the cluster's number from
// the first message. A removed member receives nothing more, learns of its removal when it asks for votes, and reports
// it.
//
// # Who votes no more
//
// With [Config].Autopilot, a shard's leader removes the vote of a member that was neither heard nor in the view for
// that long, by the leader's clock, since it leads. A learner that is heard and has the log gets that vote, in one
// joint change: at no time are more votes needed than before, and a leader that fails in between leaves nothing half
// done. If there are several learners, all shards choose the same one, as far as it has the log. At least three voters
// stay, and a majority of those who stay must be heard: a lost majority stays lost (P9).
//
// # Who leads
//
// The present voters take turns in leading the shards: of n voters, ordered by id, the one with index i mod n is to
// lead shard i. A member that leads another's shard hands it over, one shard per election timeout, when the other one
// is heard and has the log. It checks only in rounds, which an election, another view or another voter starts; a round
// ends when nothing is left to do. An operator's choice ([protocol.Transfer]) therefore stays until one of these
// events, and ends a round in progress. A member that is handed a shard starts no round; a shard that comes back in the
// round in which it was handed over stays; and a member that does not become leader is not asked again under one view.
// Members that disagree on who is to lead thus do not pass a shard back and forth, and a leader leads for long enough
// to end expired sessions. A member that is to leave informs the others, for its current life only, and receives no
// shards.
//
// # Reads
//
// A Show or a Scan is answered when a round of the group has shown that the answer is as new as the question; a
// replaced leader gives no answer. With Stale the answer is this member's state.
//
// # Members that do not hear each other
//
// A member of the view may not hear the leader, while the view's coordinator hears both. Then the coordinator carries
// their messages (Carriage): one hop, there and back. Otherwise its clients would learn, for as long as the link is
// cut, that no known member leads.
//
// If the coordinator itself does not hear the leader, it drops that one, which may continue to lead if others hear it.
// These ask it to hand over to one of them.
//
// # A copy, and what is begun with one
//
// An operator's Copy is a read: the answer is a shard's whole state, as new as the question. If a cluster is lost, a
// new one can begin with such copies of it ([Afresh]). The old one may have continued since, and the copy knows nothing
// of that:
//
//   - - its tokens: the new reign is above any that it can have reached, by the wall clock's second (this assumes at
//     most one election per second).
//   - - its holders: a client may believe in a later grant. Nothing is therefore granted until the longest possible
//     belief has passed; the suspension of the space until then ends by itself, and in no other way.
//   - - its sessions: none stays. A session that holds by the copy may have lost or released that since; and if it were
//     heard here, it would continue to believe, while the other cluster, if it still lives, expires it and grants its
//     names.
//   - - its members: the new one has another id, and the cluster another number, so messages of the old ones are
//     ignored.
//
// A request of a session of the copy is refused, since that session has ended: it does not act twice.
//
// # When something fails
//
// A journal that cannot write, or read back its data, ends this member's participation: it acknowledges and sends
// nothing more, all requests are refused, and the condition says why. The others continue. Without a quorum nothing is
// decided; waits with a limit are refused some election timeouts after it.
//
// A member whose folder is an older copy has forgotten acknowledged writes. It cannot know that by itself: the leader
// reports it, the member then no longer follows that leader, and the condition says so. Another leader sends it the
// missing entries, but that does not undo votes it may have cast before, so never use such a copy.
//
// # Bounds
//
// Requests, sessions and waiters: lock.Config and replica.Config, the same on all members. One session's holds and
// waits in all shards together: lock.Config.LocksPerSession, at the member that serves it. Operations in progress:
// shard.Config.Pending. Operators' calls and adoptions: Config.Operators, each; then a LimitError.
//
// # Files
//
//	consensus.go  Config, Machine
//	part.go       a shard as a part of the machine, and its beginning
//	sessions.go   who is served: enrolled, opened, dismissed
//	beats.go      how a leader hears of sessions, and says so
//	space_lock.go suspensions of several shards
//	admit.go      who is let in while one waits for him
//	survey.go     what operators ask of those
//	adopt.go      sessions that come from elsewhere
//	calls.go      what clients ask
//	cancel.go     how requests are ended
//	unknown.go    what waits until a shard knows its session
//	decisions.go  what they hear
//	operator.go   what operators ask
//	inquiry.go    what is as new as a question: reads of shards
//	reform.go     who votes
//	pace.go       how long is waited, where links are slow
//	stray.go      a leader that has no place in the view
//	spread.go     who leads which shard
//	autopilot.go  who votes no more, because it is silent
//	carry.go      what the coordinator carries
//	copy.go       copies of shards
//	afresh.go     clusters that begin with copies
//	condition.go  how the space is
//	messages.go   wire.go: their bytes
//	options.go    what a space can have
//	probe.go      what the simulator knows of it
package consensus
