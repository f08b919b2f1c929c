// Package replica implements one copy of a replicated lock table: the effects of a log's entries on it. Members that
// apply the same entries in the same order have the same state, and have made the same decisions. The agreement on the
// entries and their order lies outside this package.
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
// An [Entry] has a time and some operations ([Op]). Applying it first lets the time pass, which ends waits and hold
// limits, and then does one operation after the other. The outcome of each request is appended as a [lock.Decision],
// the same on every copy; the member that a session's client is connected to passes it on.
//
// # Time
//
// The table's time comes only from entries, so that copies agree on ends. It follows the clock of the member that
// writes the entries, and never goes back: an entry with an earlier time counts as one at the current time. When the
// writer changes the time stops for a while. Waits and hold limits may thus last longer than requested, and never
// shorter: a holder counts by its own clock, which ends its belief earlier (lock.Stretch).
//
// No copy knows by itself when a session has expired. Its client sends beats, which are not written to the log; the
// member that receives them names in an entry the sessions whose beats have failed to come ([Expire]).
//
// # Exactly once
//
// A request is identified by its session and its number. While it holds or waits the table knows it, and repeats its
// answer (lock.Table.Acquire). When it has ended its number is remembered for as long as its session lives, and the
// answer to a repetition says how it ended or, if that is too long ago, that it has. Consecutive numbers cost nothing:
// they are kept as ranges, of which a session has at most [MaxRanges]. At that limit the lowest two are merged: a
// number between them that was never seen counts as ended, and is refused.
//
// The same holds for sessions: a late message does not reopen an ended one. And operations have separate numbers
// ([OpID]), assigned by the member that sends them: it resends them until it has seen them applied, and the second one
// does nothing.
//
// A request that is cancelled before its arrival has also ended, and does nothing when it arrives (P6).
//
// A member that hears nothing from the others answers a client whose wait ends that there was no decision, and gives
// the request up for it. But the client may not have received that, may have connected to another member, and by now
// hold what it has requested there again. The replica therefore records the member through which a request has come,
// and a request that one member gives up by itself stays if another has also made it ([Op].GivenUp): there the client
// itself says what it no longer wants.
//
// A client that does not know the outcome of its request may send it again to another member, which makes a request
// under its own number. The client therefore names its intent ([Op].Once): requests of one session for one name that
// share it are one hold. All of them get its decision, each is given up separately, and the intent ends with the last;
// it does not matter which member first notices that its client has left. A lost member gives nothing up: a request
// that came through it stays until it is released, its wait limit has passed, or its session has ended. An intent that
// was granted and has ended is remembered for Config.Remember, and a repetition is answered with how it ended.
//
// # Who uses a session
//
// One client at a time uses a session over a stream; it has a number and a generation (lock.Attachments). A later
// client that takes it over declares that ([Attach]), through any member; an End sent by an earlier client then does
// nothing. The earlier client's waiting stream requests end, and its later ones are refused ([Op].By): no client would
// use the grants. The later client inherits its holds ([Session].Inherited). Copies that learn of two clients at the
// same time, in either order, agree on the later one.
//
// # Tokens
//
// A reign begins with each entry that says so ([Entry].Begin), and is the next number. Tokens therefore rise as long as
// there is one log, regardless of the member that writes it. A replica restored from a copy of the state, while the
// original log may have continued, begins above a given reign ([Replica.AdvancePast]).
//
// # Snapshots
//
// [Replica.Copy] is the whole state as of the copy's beginning, in parts of limited size that are written while entries
// continue to change the state ([lock.Copy]); [Replica.Snapshot] writes them at once, and [Restore] reads them. They
// begin with a format's name, and all earlier formats can be read, too; each part has a checksum that is bound to its
// place. The history of ended grants is not included. Names come in the copy's own order; [Replica.Digest] compares the
// states of two copies.
//
// # Cost
//
// An operation costs what it costs the table, and a look-up of its session. A session takes about 150 bytes and its
// texts; its client's ended requests take 16 bytes per range, and those that hold or wait some 50 bytes each, in
// addition to the table's, for the members through which they have come.
package replica
