// Package events reports what happens to locks, through any member, to the watchers at
// one.
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
// # Which member reports what
//
// A member is the source of the events of its own clients, and of no others. As long
// as it has watchers it asks every other member of its view for theirs ([Peers]: a stream
// over the connections that members have already), names the member in what comes, and
// puts it into the queues of its watchers. What came from another member is never passed
// on, so nothing goes round. Events of views and spaces come from the watched member
// alone: each has its own eye on them.
//
// While there is no watcher anywhere a member does nothing but count its events. A prefix and
// a space travel with the question. Watchers that want the same, or less than what is
// asked for already, share one stream to each member; there are few different ones
// ([gatherings]), and a watcher that comes after those shares one that asks for all events.
//
// Where a watcher was, its filter is watched on for a while ([Config]), by a feed that no watcher reads (keeper): a
// watcher that comes again with the id of the last event it had gets what followed, or learns from when on events are
// missing. Ids are numbers of what the watchers at this member were handed; at another member, and in
// another life of this one, they say only when that was.
//
// # In what order
//
// The events of one member's clients come in the order of its decisions. Between members
// there is no common clock and no order: the grant that followed a release may come
// before it, and times are those of the member's wall clock. What can be compared are
// tokens: of two grants of a name the one with the higher token came later.
//
// # No event is missing silently
//
// A watcher that begins is let in when every other member has confirmed that it reports, or
// has not answered for a second or two. From then on a watcher learns of every stretch
// of time from which it may lack events, by an event of kind space that names the member
// and has a beginning (since), and an end (until) when that is known. Its times are
// by the wall clock of the member that is missing, as far as that has sent them.
//
// To know what is missing members count: a source numbers its events, all of them,
// watched or not, and says with each message how many there were. So a stream that broke
// and was made again in a quiet moment has provably lost nothing, and reports nothing;
// nor does a member that joins before its clients have done anything.
//
// A stream is taken for broken when nothing has come for a few seconds. Then the member
// is asked again, with a pause that doubles, as long as the view has it. One that no view
// has any more is heard to the end of its stream, because its last words count: it may
// have left in good order and says so, or its clients are losing what they held.
//
// No process is left to tell what a member's own clients lose by its crash: the beginning of
// the gap is all that is known.
//
// # Bounds
//
// Of as many filters as keptAlone a keeper stays without a watcher, with as many events as kept.
// Every queue holds as many events as [FeedBound]. A watcher that lets more pile up is
// dropped, with that reason; a member that does is dropped, asks again, and reports a gap
// to its watchers. No goroutine ever waits for a watcher: what is decided goes into queues, and no
// further.
package events
