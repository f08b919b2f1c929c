// Package observe makes the states of one name, in order, from what its member sees: the events of all members, and
// looks at the name.
//
//	machine.go   the rules: events and looks go in, states come out
//	happened.go  what an event changes
//	looked.go    what a look changes
//	ledger.go    what is over and may still be heard of
//	hub.go       the names that are observed at this member, each once for all its observers
//	run.go       one of them: its events, its looks, and when they fail
//	document.go  what a look shows as documents
//	ring.go      the latest states of a name, for observers that read at their own pace or come again
//
// # Two sources
//
// The events of one member's clients come in the order of its decisions, and none is missing without a report (package
// events). Between members they have no order. A look (the answer to the call Show) is the state
// at the authority at one moment between its question and its answer; it has no place among the events.
//
// A Machine puts both in order by the tokens of the grants:
//
//   - A grant and its end are known by the token, so each comes once. An end that comes before its grant is kept until
//     the grant comes: then both are shown, one after the other.
//   - A grant that does not fit the holders shown, such as a second exclusive one, waits for the end of those before
//     it. If that does not come within [Patience], or the holder's member is not heard, the machine wants a look. A
//     holder from before the question that the look does not show has ended.
//   - After the first look, grants with lower tokens than the newest one that it shows (its history included) are past.
//   - While the events of a member may be missing, the machine wants a look every [Pace]. A grant that only a look
//     shows is shown with missed, and so is the state after a gap: other states may have come between.
//   - A look that shows a grant without its event asks for another one. The event is on its way, and comes first.
//
// Requests in the queue are known by their session and number. Their order is that of their events, and that of the
// queue after each look. A request may also leave the queue, or return to it,
// without an event: its session goes on at another member, or a new authority has it again. So the machine wants a look
// every [RestPace] while the name is not free.
//
// # What an observer does not see
//
// Grants that fit each other, of clients of different members, are shown in the order in which their events come. In a
// space of class available, two sides of a partition may each have an exclusive holder; a state has both of them once a
// look shows both. Where a table remembers no earlier grants
// of a name, a grant that has ended just before the first look may be shown after the state of that look, with its end.
// Both are over before anything else is shown.
//
// # One reader for each name
//
// A [Hub] keeps one Machine for each observed name, however many observe it, and for [Keep] after the last one: an
// observer that comes again within that time, with the id of its last state, gets the ones that followed. The others
// learn by missed that they may lack some. An observer that is slower than the ring is long learns the same. No
// observer is waited for.
package observe
