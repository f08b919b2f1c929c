// Package session is a client's session as a pure machine: no goroutine, no clock, no connection.
//
// Package client drives it with connections, and package sim with its links. Mutexes, connections, timers and the channels on which calls
// wait are theirs; the decisions are here.
//
// # What it takes
//
// [Machine.Step] takes the time now, on the client's own clock, and an [Event]: what a call wants (a lock, an unlock, an extend), what
// became of an address that is asked, what a member has said, in the messages of the API, or a Tick when [Machine.Wake] has come. The
// memory of a [Request] is its caller's, who may embed it in what it keeps of the call; from Lock on the Machine alone changes it.
//
// # What it gives out
//
// Step appends to [Effects] what is to be done, in order, before the next Step: addresses to ask, calls to answer, locks to end, a hold
// limit to move, a stream to leave. [Machine.Fill] gives the next frame to send, and is asked at the moment of the sending: what has become
// moot by then is not sent, and what is anchored at the sending is anchored there. A stream that takes nothing for a while makes no moment
// earlier than it was.
//
// # Failover
//
// A Machine without a stream that answers asks the addresses that it knows in turn (search.go): the next one as well when one has not
// answered for [RaceDelay], and at once when one has failed. Each is a [Contact]: Opening, Greet, then Answered or Failed. The first
// that welcomes the client serves it. Which addresses there are, and which of them comes first, is in places.go.
//
// # What is believed until when
//
// A session lives until its deadline: the moment at which the heartbeat was sent that was acknowledged last, plus the ttl in its answer.
// It counts from the sending, and not from the answer, because the member counts from the arrival of the heartbeat, which is between the
// two: so the client's belief ends first, however long the way back takes. Both ends count on clocks of their own; only lengths of time are
// compared. An answer is matched to its own heartbeat by its id; answers to those before it say nothing new. A welcome is an answer to its hello.
//
// The deadline may come nearer by an answer: what a member says last counts. A deadline that has passed has passed. A holder may look at
// its lock at any time without the driver's mutex, so the deadline is an atomic number ([Session]): the first reader of a clock that
// has passed it makes the session over, and no answer revives it.
//
// A hold limit counts from the moment at which the request was first sent, and after an extend from the sending of that. A shorter limit is
// believed from the moment at which it is asked for, and a longer one when it is answered. An owner holds a grant by several requests;
// its limit is the same for all, also for those whose answers are under way.
//
// # What is sent, and sent again
//
// What is asked of a request is read off its state, so that a new stream begins with all that is not settled, in the order of the ids,
// under the ids that it had: the authority acts on it once. A request that was given up is cancelled, and one that has ended is
// released, until that is acknowledged. What waits when a session is lost is asked for again in the next one.
package session
