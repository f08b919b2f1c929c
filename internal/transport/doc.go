// Package transport carries messages between members.
//
// [Transport] is the driver's whole view of the network: it sends messages, and delivers the ones that arrive. Machines
// get no further guarantee: a message may be lost, delayed, duplicated and reordered. But a transport does guarantee
// the sender of a message: it has given its id in a handshake, and of two processes that claim one id only one is
// heard.
//
//	transport/grpc    streams over the network, many messages to a frame
//	transport/memory  members of one test, with faults by script
//	transport/gossip  hints of which members are up, from gossip over the same connections
//
// # Addresses and ids
//
// A member is known by its id, and found at an address. An envelope for an id goes to the address of that id's last
// handshake, and to no other member: a process there with another id does not get it. An envelope for
// protocol.AnyMember goes to its address, regardless of the member there; a member that knows no other member yet
// starts that way. If that is the member itself, under any name of its address, it gets the message itself, under its
// own id.
//
// # Bounds
//
// Send never blocks: it is called with the driver's mutex held. Each peer has its own queue, so a peer that does not
// read does not hold up the others. A full queue drops gossip packets first and then its oldest messages; a member that
// waits for an answer repeats its request, and the newest message has the current state. Drops are counted
// ([Observer]).
package transport
