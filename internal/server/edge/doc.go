// Package edge is the server's end of a client's stream as a pure machine: no goroutine, no clock, no connection, no mutex.
//
// Package server drives it with a gRPC stream, and the simulator with its links. The stream, the goroutines, the mutex, the wake-ups,
// the pools of memory, the metrics and what certificates say are the driver's; the decisions are here.
//
// # Two halves
//
// A stream has two halves, which different goroutines use. They share no memory but the [Config], which is read only; what one has to
// tell the other passes through the driver.
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
// # What it takes
//
// [Machine.Step] takes the time at which a frame arrived, on the member's clock, and an [Event]: a frame, or the driver's answer to what
// the greeting has wanted. [Outbox.Hear] takes replies, [Outbox.Apply] the effects of the Machine, [Outbox.Take] and [Outbox.Sent] are
// the sender's.
//
// # What it gives out
//
// Step fills [Effects]: Calls for the member's machine, to be stepped in one go; what the outbox is to say before that, because it was
// refused here; and in Do what the greeting wants next.
//
//	frame, hello first ──► Admit ──► a new session:  Ask *session.Open ──► Occupy ──► Welcome
//	                                 one to resume:  Check ──► Occupy ──► Ask *session.Resume ──► Welcome
//	anything that is wrong ──► Refuse
//
// Occupy comes before the Resume, and before the welcome of a new session: the driver ends the earlier stream of that session and waits
// until nothing of it can step the member, so that no operation of a stream that its client has given up acts after the resumption. A
// wrong secret is refused by the Check, so only a client that proves its session ends a stream of it. No frame is given while the
// greeting waits for the driver.
//
// What an operation asks for becomes one Call, in the order of the frame. Its number says what the answer is about ([Call]). The wait of
// an acquire and the ttl of a beat count from the arrival of the frame. An operation that cannot be done is refused and disturbs no other.
// A frame is taken in steps, so that none keeps the member from others for long (Effects.Taken), and its length is bounded. The rate of a
// client is bounded by counts that the driver takes from the client's bucket ([Count], [Allowance]).
//
// # How events leave
//
// The welcome is the first event, and travels in one frame with all that the session had to hear before it: a client that knows that
// its session goes on knows as well which of its grants do not. Until the welcome, or a refusal, Take gives out nothing.
//
// An outbox is bounded in events and bytes, counting what is being sent. All outboxes together are bounded, too: past that each keeps its
// share. At a bound the stream ends, and the session lives on until its ttl is over.
//
// # How a stream ends
//
// It finishes, when what is in the outbox has been sent, after a refused hello, an acknowledged end, an expired, dismissed or taken-over
// session, and when the client has closed its direction. It ends at once when a later stream has resumed the session, at a bound of the
// outbox, and when the driver says so. The first of each counts ([Outbox.State]).
package edge
