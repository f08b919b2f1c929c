// Package edge is the server's end of a client's stream as a pure machine: no goroutine, no clock, no connection, no
// mutex.
//
// Package server drives it with a gRPC stream, and the simulator with its links. The driver owns the stream,
// goroutines, mutex, wake-ups, memory pools, metrics and the evaluation of certificates; this package makes the
// decisions.
//
// # Two halves
//
// A stream has two halves, used by different goroutines. They share no memory except the [Config], which is read-only;
// messages between them pass through the driver.
//
//	Machine  inbound: frames become events of the member's machine.
//	         The reader's alone. It has the greeting, the client's name, the session, the number of the latest call,
//	         the ttl that was asked for last, and the latest request of an earlier stream.
//	Outbox   outbound: replies of the member's machine become events for the client.
//	         Under one mutex of the driver, because replies come on any goroutine that steps the member. It has what waits to
//	         be sent, the size of that, whether the client was greeted, and how the stream ends.
//	Frame    the memory in which a batch becomes a message. The sender's alone.
//	Together the bytes that the outboxes of all streams have. Atomic.
//
// # Input
//
// [Machine.Step] takes the time at which a frame arrived, on the member's clock, and an [Event]: a frame, or the
// driver's answer to a request of the greeting. [Outbox.Hear] takes replies, [Outbox.Apply] the effects of the Machine,
// [Outbox.Take] and [Outbox.Sent] are the sender's.
//
// # Output
//
// Step fills [Effects]: Calls for the member's machine, to be made in one step; refusals by this package, for the
// outbox to send before that; and in Do the next request of the greeting.
//
//	frame, hello first ──► Admit ──► a new session:  Ask *session.Open ──► Occupy ──► Welcome
//	                                 one to resume:  Check ──► Occupy ──► Ask *session.Resume ──► Welcome
//	anything that is wrong ──► Refuse
//
// Occupy comes before the Resume, and before the welcome of a new session: the driver ends the earlier stream of that
// session and waits until nothing of it can step the member, so no operation of an abandoned stream takes effect after
// the resumption. Check refuses a wrong secret, so only a client that proves its session can end one of its streams.
// The driver passes no frame while the greeting waits for it.
//
// Each operation becomes one Call, in the order of the frame. Its number links the answer to the operation ([Call]).
// The wait of an acquire and the ttl of a beat count from the arrival of the frame. An invalid operation is refused and
// does not affect the others. A frame is processed in steps, so none occupies the member for long (Effects.Taken), and
// its length is bounded. A client's rate is bounded by counts that the driver takes from the client's bucket ([Count],
// [Allowance]).
//
// # Order of events
//
// The welcome is the first event, and travels in one frame with all pending news of the session: a client that learns
// that its session continues also learns which of its grants do not. Until the welcome, or a refusal, Take returns
// nothing.
//
// An outbox is bounded in events and bytes, including those being sent. All outboxes together are bounded, too: beyond
// that each is limited to its share. At a bound the stream ends, and the session lives until its ttl is over.
//
// # End of a stream
//
// It finishes, once the outbox is sent, after a refused hello, an acknowledged end, an expired, dismissed or taken-over
// session, and when the client has closed its direction. It ends at once when a later stream has resumed the session,
// at a bound of the outbox, and by order of the driver. The first of each counts ([Outbox.State]).
package edge
