// Package history keeps what users saw of a lock, and compares it with what a lock is.
//
// A [Log] has the acquisitions of one name, each as its user saw it: when it was asked
// for, when and under which token it was granted, until when its user took himself for a
// holder, and when the authority had taken it back. What an authority did in between, and
// when, cannot be known from outside. A [Model] is a lock without time, members and messages:
// it says which acquisitions may follow one another. A log is linearizable (Herlihy and
// Wing, 1990) if there is an order of instants, one within each interval that a user saw,
// in which the model takes all of it; package porcupine looks for that order.
//
// # What is an operation
//
//   - An acquisition that was granted: between its request and its answer.
//   - One that was refused because the name is held, of a user who did not want to wait:
//     between the same. At some instant in between another user held the name, or may have.
//   - The end of a grant: from the last instant in which its user is known to have taken
//     himself for a holder, to when the authority said that it has taken it back; or for
//     ever, where it never said so. Whether it ended by an unlock, by the user's own clock
//     (a session, a hold limit, however often that was extended), by the report of its loss, or
//     with his process, is all the same: whichever came first.
//
// An acquisition whose end no user has seen (its user gave up waiting, crashed, or
// lost his session) stays open: it may have been granted at any time, or never, and may
// have ended again. It forbids nothing, so it is no operation; and it excuses. A user that is still
// asking may have held the lock, too, unheard: the word of it was lost, then the grant. So a
// refusal is an operation only where no other user was asking meanwhile; and a named owner
// may find a grant that something unheard of its own has kept.
//
// # The models
//
//	Mutex                   one at a time
//	FencedMutex             and tokens rise with every grant
//	ReentrantFencedMutex    and a named owner enters what he holds, under its token
//	SharedExclusive         and readers at the same time as readers
//	Permits                 and as many units as there are, all of one capacity
//
// The observers (the simulator, and programs that record a real cluster) write one log per
// name, because locks of different names have nothing to do with each other, and search
// is exponential in the worst case. It is bounded by steps, not by time, so that a log is
// judged alike on every machine; what was not decided within them is [Unknown], and is
// for the caller to count.
package history
