// Package events streams lock events of all members to the watchers at one member.
//
//	source.go     what happens here, made of what the member's machines decide
//	batch.go      events as all watchers share them: encoded once, handed on together
//	feed.go       what one watcher has not read yet, bounded
//	stream.go     what happens here, for another member
//	gather.go     who watches here, and what the other members are asked for
//	follow.go     one other member: asked, lost, asked again
//	missing.go    what watchers learn of events that are missing
//	resume.go     what watchers that come again have missed
//
// # Sources
//
// A member is the source of the events of its own clients, and of no others. As long as it has watchers it subscribes
// to every other member of its view ([Peers]: a stream over the members' existing connections), labels their events
// with the member, and puts them into the queues of its watchers. Events from another member are never passed on, so
// there are no loops. Events of views and spaces come from the watched member alone: each member has its own view of
// them.
//
// Without watchers a member only counts its events. A subscription carries a prefix and a space. Watchers that want the
// same events, or a subset, share one stream to each member; the number of different streams is bounded ([gatherings]),
// and later watchers share one that carries all events.
//
// After a watcher leaves, a feed without a reader (keeper) continues with its filter for a while ([Config]): a watcher
// that returns with the id of its last event gets the events that followed, or learns from when on events are missing.
// Ids number the events delivered to watchers at this member; at another member, and in another life of this one, they
// only give the time.
//
// # Order
//
// The events of one member's clients come in the order of its decisions. Between members there is no common clock and
// no order: the grant that followed a release may come before it, and times are those of the member's wall clock.
// Tokens can be compared: of two grants of a name the one with the higher token came later.
//
// # Gaps are reported
//
// A new watcher is admitted when every other member has confirmed its subscription, or has not answered for a second or
// two. From then on, every period from which it may lack events is reported by an event of kind space that names the
// member and has a beginning (since), and an end (until) when that is known. Its times are by the wall clock of the
// missing member, as far as that has sent them.
//
// To detect gaps, members count: a source numbers all its events, watched or not, and each message carries the count so
// far. So a stream that broke and was reopened in a quiet moment has provably lost nothing, and reports nothing; nor
// does a member that joins before its clients have done anything.
//
// A stream is considered broken when nothing has arrived for a few seconds. Then the member is asked again, with a
// pause that doubles, as long as it is in the view. The stream of a member that has left the view is read to its end,
// because its last messages matter: it may report an orderly leave, or that its clients are losing their locks.
//
// After a crash no process can report what the member's own clients lost: only the beginning of the gap is known.
//
// # Bounds
//
// At most keptAlone keepers stay without a watcher, each with at most kept events. Every queue holds at most
// [FeedBound] events. A watcher that lets more pile up is dropped, with that reason; a member that does is dropped,
// subscribes again, and reports a gap to its watchers. No goroutine ever waits for a watcher: decisions only go into
// queues.
package events
