// Package session is a client's session as a pure machine: no goroutine, no clock, no connection.
//
// Package client drives it with connections, and package sim with its links. They own the mutexes, connections, timers
// and channels; this package makes the decisions.
//
// # Input
//
// [Machine.Step] takes the time now, on the client's own clock, and an [Event]: a call (a lock, an unlock, an extend),
// the outcome of a connection attempt, a message of a member, in the types of the API, or a Tick when [Machine.Wake] is
// due. The caller owns the memory of a [Request], and may embed it in its own data; from Lock on only the Machine
// changes it.
//
// # Output
//
// Step appends to [Effects] the actions to take, in order, before the next Step: addresses to contact, calls to answer,
// locks to end, a hold limit to move, a stream to leave. [Machine.Fill] returns the next frame, and is called at the
// moment of sending: moot messages are dropped, and times that count from the sending are taken then. So a stream that
// blocks for a while makes no such time too early.
//
// # Failover
//
// A Machine without a working stream tries its known addresses in turn (search.go): the next one as well after
// [RaceDelay] without an answer, and at once after a failure. Each is a [Contact]: Opening, Greet, then Answered or
// Failed. The first that welcomes the client serves it. places.go has the known addresses and their order.
//
// # Deadlines
//
// A session lives until its deadline: the time at which the last acknowledged heartbeat was sent, plus the ttl in its
// answer. It counts from the sending, not from the answer, because the member counts from the heartbeat's arrival,
// which is between the two: so the client's belief ends first, however long the answer takes. Each end uses its own
// clock; only durations are compared. An answer is matched to its heartbeat by id; answers to earlier ones have no
// effect. A welcome is the answer to its hello.
//
// An answer may move the deadline closer: the member's last answer counts. A passed deadline is final. A holder may
// check its lock at any time without the driver's mutex, so the deadline is an atomic number ([Session]): the first
// reader whose clock is past it ends the session, and no answer revives it.
//
// A hold limit counts from the first sending of the request, and after an extend from the sending of that. A shorter
// limit applies from its request on, a longer one from its answer on. An owner may hold a grant by several requests;
// its limit is the same for all, including those whose answers are under way.
//
// # Amendments
//
// An amendment of a grant states the whole, under a revision that only rises in a session, so it may be repeated, and a
// late one does no harm. One that is replaced before it is answered is answered with the one that has replaced it.
//
// # Sending and repeating
//
// The messages of a request follow from its state, so a new stream begins with all unsettled requests, in the order of
// their ids and under the same ids: the authority acts on each once. An abandoned request is cancelled, and an ended
// one released, until that is acknowledged. Requests that wait when a session is lost are repeated in the next one.
package session
