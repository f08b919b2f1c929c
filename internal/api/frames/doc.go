// Package frames turns the frames of a session's stream into bytes and back: what
// carries every lock between a client and a member.
//
// The bytes are those of package schema's schema, protocol buffers and nothing else, so a
// client in any language speaks to this package and does not know. What is here is
// faster than the general code because it knows which messages are many: acquires,
// releases, cancels and beats one way, and their answers the other. Those are written
// and read by hand, field by field, into memory that is used again. Everything else,
// and all that is not as our own side would have written it (an unknown field, a text
// that is no UTF-8, a second kind in one operation), goes to package proto, one
// operation or event at a time: what the general code accepts is accepted here, with
// the same result, and what it refuses is refused. A fuzz target holds the two against
// each other.
//
//	codec.go   Codec, which gRPC asks for bytes
//	write.go   messages to bytes
//	read.go    bytes to messages for a member: Operations
//	events.go  bytes to messages for a client: Events
//	field.go   numbers, texts and nested messages
//
// # Memory
//
// An [Operations] or [Events] is read into again and again. The messages in it are valid
// until then, or until Release; texts live as long as they are referenced. Between two
// frames an Operations keeps no memory, since most sessions are quiet.
package frames
