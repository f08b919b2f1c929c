// Package replica is one copy of a lock table of which there are several: what the entries of a log
// do to it. Members that apply the same entries in the same order have the same state, and have
// decided the same. Which entries there are, and in which order, others agree on; this package does not
// know how.
//
// # What the state is
//
//	lock.Table   who holds and who waits
//	sessions     who may; a session outlives the member that its client is connected to, and says which client uses it
//	intents       which requests are for the same, through several members
//	ended        which requests and sessions have had their end, and shall not act again
//	the time     the table's own, which entries tell
//	the reign    the high part of every token
//
// # An entry
//
// An [Entry] has a time and some operations ([Op]). Applying it lets first the time pass, which ends
// waits and hold limits, and then does one operation after the other. What becomes of each request is
// appended as a [lock.Decision], on every copy alike; the member that a session's client is connected to
// tells it.
//
// # Time
//
// The table's time comes from entries alone, so that copies agree on what has ended. It
// goes on by the clock of the member that writes the entries, and never back: an entry whose time is
// lower counts as one at the time that it is. Where the writer changes it stands still for a while. So
// waits and hold limits may last longer than was asked for, and never shorter: a holder counts by its own
// clock, which ends its belief before (lock.Stretch).
//
// When a session has expired no copy knows by itself. Its client beats, which is not written down; the
// member that hears that says in an entry which sessions' beats have failed to come ([Expire]).
//
// # Exactly once
//
// A request is named by its session and its number. While it holds or waits the table knows it, and
// repeats its answer (lock.Table.Acquire). When it has ended its number is remembered, as
// long as its session lives, and the answer to a repetition says again how it ended, or, where that is too
// long ago, that it has. Numbers that follow one another cost nothing: they are kept as ranges, of which a
// session has [MaxRanges] at most. At that bound the lowest two become one: a number between them that
// was never seen is taken for one that has ended, and refused.
//
// The same holds of sessions: what comes late opens none anew that has ended. And operations have numbers of
// their own ([OpID]), given by whichever member sends them: it sends them again until it has seen them
// applied, and the second one does nothing.
//
// A request that is cancelled before it came has ended, too, and does nothing when it comes (P6).
//
// A member that hears nothing of the others tells a client whose wait has its end that there was no decision, and gives the
// request up for it. But the client may not have heard that, have gone to another member, and hold by now what it has asked for
// again there. So it is known through which member a request has come, and what one member gives up of itself stays where
// another has asked for it ([Op].GivenUp): there the client says itself what it does not want any more.
//
// A client that does not know what became of its request may send it again to another member, which asks under a number of its
// own. So it says what it calls its intent ([Op].Once): requests of one session for one name that share that are one hold. All of
// them get the decision about it, each gives itself up, and the intent is given up with the last; which member notices
// first that its client has gone makes no difference. A member that is gone gives nothing up: a request that came through it
// stays until it is released, its wait limit has passed, or its session has ended. An intent that was granted and has ended is
// remembered for Config.Remember, and a repetition is answered with how it ended.
//
// # Who uses a session
//
// A session is used over a stream by one client at a time, which has a number and a generation (lock.Attachments). A later
// client that takes it over says so ([Attach]), through whichever member; an End that a client before it has sent does nothing
// then. What the client before has asked for over its stream and waits for ends, and what it asks for later is refused ([Op].By):
// no client would use what is granted. What it holds the later client inherits ([Session].Inherited). Copies that learn of two at
// once, in either order, agree on the later one.
//
// # Tokens
//
// A reign begins with each entry that says so ([Entry].Begin), and is the next number. So tokens rise as long
// as the log is one, regardless of which member writes it. A replica that is restored from a copy of the
// state, while the log that it was taken of may have gone on, begins above a reign that is given
// ([Replica.AdvancePast]).
//
// # Snapshots
//
// [Replica.Copy] is the whole state as it was when the copy began, in parts of bounded size that are written while entries go on
// changing the state ([lock.Copy]); [Replica.Snapshot] writes them at once, and [Restore] reads them. They begin with a format's
// name, of which all before are read, too; each part has a checksum that is bound to its place. The history of ended grants is not
// part of it. Names come in the order in which the copy has them; whether two copies are in the same state [Replica.Digest] tells.
//
// # Cost
//
// An operation costs what it costs the table, and a look-up of its session. A session takes about 150
// bytes and its texts; its client's requests that have ended 16 bytes a range, and those that hold or
// wait some 50 bytes each, in addition to the table's, for the members through which they have come.
package replica
