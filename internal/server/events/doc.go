// Package events tells what happens to locks: to the watchers at a member, whichever
// member it happens through.
//
//	source.go     what happens here, made of what the member's machines decide
//	batch.go      events as all watchers share them: encoded once, handed on together
//	feed.go       what one watcher has not read yet, bounded
//	stream.go     what happens here, for another member
//	gather.go     who watches here, and what the other members are asked for
//	follow.go     one other member: asked, lost, asked again
//	missing.go    what watchers are told of what they cannot be told
//	resume.go     what watchers that come again have missed
//
// # Who tells what
//
// A member is the source of the events of its own clients, and of no others. As long
// as it has watchers it asks every other member of its view for theirs ([Peers]: a stream
// over the connections that members have already), names the member in what comes, and
// puts it into the queues of its watchers. What came from another member is never passed
// on, so nothing goes round. Views and spaces are told by the member that is watched
// alone: each has its own eye on them.
//
// While there is no watcher anywhere a member does nothing but count its events. A prefix and
// a space travel with the question. Watchers that want the same, or less than what is
// asked for already, share one stream to each member; there are few different ones
// ([gatherings]), and a watcher that comes after those shares one that asks for everything.
//
// Where a watcher was, its filter is watched on for a while ([Config]), by a feed that no watcher reads (keeper): a
// watcher that comes again with the id of the event that it has had last gets what followed, or is told from when on events are
// missing. Ids are numbers of what the watchers at this member were handed; at another member, and in
// another life of this one, they say only when that was.
//
// # In what order
//
// The events of one member's clients come in the order of its decisions. Between members
// there is no common clock and no order: the grant that followed a release may be told
// before it, and times are those of the member's wall clock. What can be compared are
// tokens: of two grants of a name the one with the higher token came later.
//
// # Nothing is missing in silence
//
// A watcher that begins is let in when every other member has said that it tells, or
// has not answered for a second or two. From then on a watcher is told of every stretch
// of time from which it may lack events, by an event of kind space that names the member
// and has a beginning (since), and an end (until) when that is known. Its times are
// by the wall clock of the member that is missing, as far as that has told them.
//
// To know what is missing members count: a source numbers its events, all of them,
// watched or not, and says with each message how many there were. So a stream that broke
// and was made again in a quiet moment has lost nothing, which is known, and not told;
// so has a member that joins before its clients have done anything.
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
// dropped and told so; a member that does is dropped, asks again, and tells its watchers
// of a gap. No goroutine ever waits for a watcher: what is decided goes into queues, and no
// further.
package events
