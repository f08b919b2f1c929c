// Package consensus is a replicated state machine: the lock table, and the sessions of its clients, are replicated by Raft
// and kept on disks. Holders survive the loss of any minority, the restart of everything, and the loss of the member that they
// were connected to.
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
// A space has one shard or several, each with its own part of the names: a Raft group, a replica of a lock table and
// a log of the member's journal (package shard; package group says how Raft is used, and lock/replica what
// entries do). All members have a part in each, and any of them may lead any. This package puts them together as the
// machine of a space: which shard has a name, which clients get which answers from this member, and what
// operators ask.
//
// # What is answered when
//
// Everything is answered when it is applied here: committed, so synced by a quorum, and done to this member's copy. A request is
// answered at once with Queued, at position −1, and then with what became of it. A Cancel is answered when it is done, too, and not
// at all where its session is not served here any more by then: if it were answered before, its client could be granted the request
// nevertheless by another member that serves it. While no decision comes a request is refused when its wait limit has passed and
// a while, and given up; but one that its client has asked for through another member, too, is not answered: it may hold
// already, and its client goes on there, because its beats are not answered either. A member that was removed serves no clients.
//
// Every member's copy decides the same; each tells the sessions that it serves, and no others. It serves those that were
// enrolled here ([protocol.Enroll]) or adopted ([protocol.Adopt]), as long as they are not dismissed. When a copy is
// replaced by a snapshot, decisions between the two do not come out: then what is known of each request is compared with
// what the copy has, and the rest is asked again. An operation that comes twice acts once (package replica).
//
// # Sessions
//
// A session is known to every shard that it has asked for something: it is opened there by an entry before its
// first request. From then on the leader ends it when it has not been heard for (1+δ)·ttl. Whichever member
// serves it says when it was heard ([protocol.Beat]). A few such messages are on their way to the leader at the same time; what comes
// while all of them are goes together. The answer comes when a round of the group has shown that the leader that heard it still led:
// two round trips after the beat, as long as there are few.
//
// A session moves: another member adopts it when its client comes there, having asked the group whether it lives. Requests
// keep their numbers, so what both members ask for is done once. A grant to a request that its client has settled
// meanwhile is given back. A request that its client has listed may be granted yet, so its client cancels it here when another member
// has refused it since; and what this member refuses at once it gives back when the other member's word comes late.
//
// The sessions of this process (Enroll.Own) are beaten for by the machine. Their users compare the clock with
// [Machine.Assured]; when that has come all is reported lost, and the session goes on under another
// name towards the group, because the one that it had may have been ended there.
//
// # Suspensions
//
// The space's own name (lock.SpaceLock) every shard has, and a session that holds it in all suspends the space. They are asked in
// their order, each as soon as no other suspension comes first in the one before: so what is first in the first shard is
// first in all, two suspensions do not wait for each other, and soon nothing new is granted in any shard, while in one of
// them something is still held. Its turn among the requests of a shard counts from when it has come there. The client sees
// one request, under the token of the last shard. It ends in all when it ends in one: when it is given up, broken, or
// refused because of its wait limit. To operators it is one too; a suspension that has some of the shards is one that waits.
//
// A session that holds something in one shard, and needs more in another one to give it back, is let through that one's gate, as it
// is where there is one shard alone (lock.Table.LetIn): so a suspension waits for an end that comes.
//
// The machine does all this, and not the caller, because it hears of what happens in each shard, goes on when a session is adopted
// or has to go on under another name, and is the only part that knows of shards.
//
// A tenure that ends takes nothing from any client: leases are of no meaning here.
//
// # The beginning
//
// The first voters of a space are the founders. When this member's view has all of them for the first time, it writes
// their ids down as the beginning of each log, and takes part when that is synced. All founders write the same; one
// that misses that view learns it from those who have had it, or the members that vote by now. The ids together make
// the cluster's number, which every message between members and everything that is kept carries: a member that began
// with others, because a folder was lost, replaced or copied from somewhere else, is not heard, and says so
// ([protocol.Condition]).
//
// # Who votes
//
// An operator adds a member as a learner, which gets the log and has no vote; makes it a voter when it has the log;
// and removes it ([protocol.Reform]). The member that is asked asks the leader of each shard, again and again until
// all have done it or one says what stands against it: a vote is for a learner that lacks a few entries at most; of
// those who vote then a majority was heard lately; the last voter stays. A leader that is to go hands over first. The
// answer says that the leader remembers the change as committed, so a member that was removed can be switched off.
//
// A member that is no founder has an empty log, and no part until it is added; it takes the cluster's number from the first
// message. A member that is removed hears nothing more, learns that when it asks for votes, and says so.
//
// # Who votes no more
//
// Where [Config].Autopilot says so, a shard's leader takes the vote of one that was neither heard nor in the view for that long, by
// the leader's clock, since it leads. A learner that is heard and has the log gets that vote, in one joint change: so at no time
// more votes are needed than before, and a leader that fails in between leaves nothing half done. Of several it is the same in all
// shards, as far as they have the log. Three voters stay at least, and of those who stay a majority must be heard: a majority that
// is lost stays lost (P9).
//
// # Who leads
//
// The voters that are here take turns in leading the shards: of n, by their ids, that with index i mod n is to lead shard i. A
// member that leads another's shard hands it over, one shard in an election timeout, when the other one is heard and has the log.
// It looks only in rounds, which an election, another view or another voter begins; a round ends when nothing is left to do. So
// what an operator has chosen ([protocol.Transfer]) stays until one of these comes, and a round that is under way then ends. A
// member that is handed a shard begins no round; a shard that comes back in the round in which it was handed over stays; and one that
// does not come to lead is not asked again under one view. So members that disagree on who is to lead do not hand a shard to and fro,
// and a leader leads for long enough to end the sessions that are over. A member that is to leave tells the others, of its present
// life alone, and is given nothing.
//
// # Reads
//
// A Show or a Scan is answered when a round of the group has shown that what is shown is as new as the question; a leader that
// others have replaced gives no answer. With Stale it is what this member has.
//
// # Members that do not hear each other
//
// A member of the view may not hear the leader, while the view's coordinator hears both. Then that one carries
// their messages (Carriage): one hop, there and back. Without, its clients would hear for as long as the
// link is cut that no member is known to lead.
//
// Where the coordinator itself does not hear the leader, it drops that one, which may lead on if others hear it. These ask it to
// hand over to one of them.
//
// # A copy, and what is begun with one
//
// An operator's Copy is a read: the answer is a shard's whole state, as new as the question. A cluster can begin with such
// copies ([Afresh]) where the one that they are of is lost. That one may have gone on since, and the copy knows nothing of it:
//
//   - its tokens: the new reign is above any that it can have come to, by the wall clock's second (more than one election a
//     second there are not).
//   - its holders: a client may believe in what it was granted later. So nothing is granted until the longest belief that it can
//     have has passed; what suspends the space until then ends by itself, and by nothing else.
//   - its sessions: none stays. A session that holds by the copy may have lost or given that up since; and would it be heard here,
//     it would believe on, while the other cluster, if it lives after all, expires it and grants its names.
//   - its members: the new one has another id, and the cluster another number, so none of them is heard.
//
// A request of a session of the copy is refused, since that has ended: it does not act twice.
//
// # When something fails
//
// A journal that cannot write, or read what it has written, ends this member's part: nothing more is
// acknowledged or said, all that is asked is refused, and the condition says why. The others go on. Without a quorum nothing is decided;
// what waits with a limit is refused some election timeouts after it.
//
// A member whose folder is an older copy has forgotten what it has acknowledged. It cannot know that by itself: it hears it from
// the leader, which it follows no further, and the condition says so. Another leader brings it what it lacks; what it may have
// voted for before that is not made good, so such a copy is never to be used.
//
// # Bounds
//
// Requests, sessions and waiters: lock.Config and replica.Config, the same on all members. What one session has in all shards together:
// lock.Config.LocksPerSession, at the member that serves it. Operations under way: shard.Config.Pending.
// Operators' calls and adoptions: Config.Operators, each; then a LimitError.
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
