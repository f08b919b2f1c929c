// Package transport carries messages between members.
//
// [Transport] is all that a member's driver sees of the network: it takes messages on
// their way, and delivers what arrives. Machines are promised nothing beyond that: a
// message may be lost, delayed, duplicated and overtaken. A transport does
// promise who has sent a message: its sender has given the id under which it is delivered
// in a handshake, and two processes that claim one id are not both heard.
//
//	transport/grpc    streams over the network, many messages to a frame
//	transport/memory  members of one test, with faults by script
//	transport/gossip  hints of which members are there, from a gossip over the same connections
//
// # Addresses and ids
//
// A member is known by its id, and found at an address. An envelope for an id goes to
// where the last handshake has found that id, and to no other member: a process that
// has another id by now does not get it. An envelope for protocol.AnyMember goes to its
// address, regardless of which member is there; a member that knows no other member
// yet begins so. If that is the member itself, under its own address or another name
// of it, the message is delivered to itself, under its own id.
//
// # Bounds
//
// Send never blocks: it is called with the driver's mutex held. Each peer has a queue
// of its own, so that one that does not read is no burden to the others. A full queue
// drops the gossip's packets first and then its oldest messages; a member that waits
// for an answer repeats, and the newest message says what holds now. What is dropped
// is counted ([Observer]).
package transport
