// Package grpc carries messages between members over gRPC streams, on the port that
// serves clients too.
//
//	transport.go  Send and Listen: which peer a message goes to
//	queue.go      what waits for a peer, bounded
//	peer.go       one address: reach it, send what waits, reach it again
//	link.go       one stream to a peer, and when it is given up
//	incoming.go   one stream from a peer
//	greeting.go   who may speak: handshakes, and who is known
//	gossip.go     the packets and connections of the gossip that finds members
//	events.go     what happens to a member's clients, for another member whose clients watch
//	serve.go      on which server all that comes in
//
// # Streams
//
// A member opens one stream to each address that it has something to say to, and says
// everything there: two members that talk share two streams, one each way. A stream
// begins with a hello and a welcome, which tell either side who the other is and where
// it wants to be reached. From then on a frame takes all that waits, up to a bound,
// without waiting for more and without waiting for an answer.
//
// The receiver confirms frames, several at once and a few dozen times a second at
// most, and goes on confirming while it is busy with one. So silence means that the
// process or the path to it is stuck, not that it has much to do; after Config.Deadline
// of it, or two round trips of this stream where those take longer, with frames unconfirmed, the
// stream and its connection are given up and made anew. TCP alone would go on for minutes, and after a cut that has healed would wait
// for its own clock. What was under way is lost, and is not repeated: the member that
// needed it asks again, with what holds then.
//
// # Reaching a peer
//
// Attempts begin at once and are spaced by a pause that doubles up to Config.Retry,
// with jitter. When the peer itself calls, the pause is over. What waits when an
// attempt ends in vain is dropped: a message is never older than one attempt and one
// pause. A peer that nothing is sent to for a while is let go.
//
// # Who is refused
//
// Another version of the protocol, another cluster, another process with an id that is
// here, and an earlier life of a member that has restarted since. Each refusal names
// both values, on both sides, and is logged once, not at every attempt. A member is one
// process: its id belongs to the process that was heard under it first, until that one
// is gone, or has restarted at the same address under a higher incarnation. A process that comes with
// that incarnation and address while the former process is connected is believed only if that one
// does not answer at the address any more: otherwise it has a copy of the folder. A process that is
// refused because a later life of its member is known is superseded (Transport.Superseded): what that
// one has promised it does not know, and it must end.
//
// What does not decode closes the stream that it came on, and is counted.
package grpc
