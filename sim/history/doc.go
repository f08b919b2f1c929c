// Package history records the users' view of a lock, and checks it against a model of a lock.
//
// A [Log] has the acquisitions of one name, each as its user saw it: the time of the request, the time and the token of
// the grant, the end of the user's belief that it holds, and the time at which the authority took the lock back. The
// authority's own acts in between cannot be known from outside. A [Model] is a lock without time, members and messages:
// it defines which acquisitions may follow one another. A log is linearizable (Herlihy and Wing, 1990) if there is an
// order of instants, one within each interval that a user saw, in which the model accepts all of it; package porcupine
// looks for that order.
//
// # What is an operation
//
//   - A granted acquisition: between its request and its answer.
//   - An acquisition that did not wait, and was refused because the name is held: between its request and its answer.
//     At some instant in between another user held the name, or may have.
//   - The end of a grant: from the last instant at which its user is known to have believed in it, to the authority's
//     report that it has taken the lock back; without such a report, open-ended. The cause does not matter: an unlock,
//     the user's own clock (a session, a hold limit, however often extended), the report of its loss, or the end of its
//     process, whichever came first.
//
// An acquisition whose end no user has seen (its user gave up waiting, crashed, or lost its session) stays open: it may
// have been granted at any time, or never, and may have ended again. It is not an operation, so it forbids nothing, but
// it excuses others. A user that is still asking may also have held the lock unheard: the report of the grant was lost,
// then the grant. So a refusal is an operation only if no other user was asking meanwhile; and a named owner may find a
// grant that an unheard acquisition of its own has kept.
//
// # The models
//
//	Mutex                   one at a time
//	FencedMutex             and tokens rise with every grant
//	ReentrantFencedMutex    and a named owner may enter its hold, under the same token
//	SharedExclusive         and readers together with readers
//	Permits                 and units up to a capacity, the same for all holders
//
// The observers (the simulator, and programs that record a real cluster) write one log per name, because locks of
// different names are independent, and the search is exponential in the worst case. It is bounded by steps, not by
// time, so that every machine judges a log alike. A log that is not decided within them is [Unknown], which the caller
// should count.
package history
