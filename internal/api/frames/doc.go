// Package frames encodes and decodes the frames of a session's stream, which carry every lock between a client and a
// member.
//
// The bytes are plain protocol buffers of package schema, so a client in any language can talk to this package. It is
// faster than the general code because it knows the frequent messages: acquires, releases, cancels and beats one way,
// and their answers the other. Those are encoded and decoded by hand, field by field, into reused memory. Everything
// else, and any input that our own side would not have written (an unknown field, a text that is no UTF-8, a second
// kind in one operation), goes to package proto, one operation or event at a time. So this package accepts what the
// general code accepts, with the same result, and refuses what it refuses. A fuzz target compares the two.
//
//	codec.go   Codec, which gRPC asks for bytes
//	write.go   messages to bytes
//	read.go    bytes to messages for a member: Operations
//	events.go  bytes to messages for a client: Events
//	field.go   numbers, texts and nested messages
//
// # Memory
//
// An [Operations] or [Events] is reused for each frame. Its messages are valid until the next read, or until Release;
// texts live as long as they are referenced. Between two frames an Operations keeps no memory, since most sessions are
// quiet.
package frames
