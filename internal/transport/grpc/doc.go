// Package grpc carries messages between members over gRPC streams, on the same port as clients.
//
//	transport.go  Send and Listen: which peer a message goes to
//	queue.go      the bounded send queue of a peer
//	peer.go       one address: connect, send, reconnect
//	link.go       one stream to a peer, and its timeouts
//	incoming.go   one stream from a peer
//	greeting.go   handshakes, and the known members
//	gossip.go     packets and connections of gossip
//	events.go     events of a member's clients, for watchers at another member
//	serve.go      registration on the server
//
// # Streams
//
// A member opens one stream to each address that it sends to, and sends everything over it: two members that talk have
// two streams, one each way. A stream begins with a hello and a welcome, which carry each side's identity and address.
// After that a frame takes all queued messages, up to a bound, without waiting for more or for an answer.
//
// The receiver confirms frames, several at once and at most a few dozen times a second, and keeps confirming while it
// is busy with one. So silence means that the process or the path to it is stuck, not that it is busy. After
// Config.Deadline of silence with frames unconfirmed, or two round trips of this stream if those take longer, the
// stream and its connection are closed and reopened. TCP alone would retry for minutes, and after a healed partition
// would wait for its own timer. Messages under way are lost, and not repeated: the member that needed one asks again,
// with current data.
//
// # Connecting
//
// Attempts begin at once and are spaced by a pause that doubles up to Config.Retry, with jitter. A connection from the
// peer ends the pause. Messages queued when an attempt fails are dropped: a message is never older than one attempt and
// one pause. The stream to an idle peer is closed after a while.
//
// # Refusals
//
// Refused are another version of the protocol, another cluster, another process with an id in use, and an earlier life
// of a member that has restarted since. Each refusal names both values, on both sides, and is logged once, not at every
// attempt. A member is one process: its id belongs to the first process heard under it, until that process is gone, or
// has restarted at the same address under a higher incarnation. A process with that address and a higher incarnation
// that appears while the former process is connected is accepted only if the former no longer answers at the address:
// otherwise one of them runs from a copy of the folder. A process refused because of a later life of its member is
// superseded (Transport.Superseded): it does not know the later life's promises, and must end.
//
// Undecodable input closes its stream, and is counted.
package grpc
