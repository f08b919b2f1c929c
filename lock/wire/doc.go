// Package wire turns values into bytes and back: the messages between members, and what is
// kept in logs, copies and cells.
//
// A type has one method, Code, that goes through its fields with a [Coder]. The Coder
// appends them to bytes, or takes them from there, so that the two directions cannot
// disagree. The fields of a message come in the order of their declaration, without
// anything between them. A field is
//
//	number     a varint in its shortest form; signed ones and durations in zigzag
//	id         8 bytes, little endian: ids are random, and a varint would be longer
//	truth      one byte, 0 or 1
//	text       its length as a varint, then its bytes
//	list       its length as a varint, then its elements
//	optional   a truth, then the value if there is one
//	data       its length as a varint, then its bytes
//	body       the number of its type, then its fields
//
// Formats of what is kept on disk are older than this package, and have three kinds more: numbers of 8 bytes, big
// endian; flags, which are truths as the bits of one byte; and bytes without a length, whose number is known or
// which come last.
//
// # Messages
//
// A [Type] is a type of messages with its number. A package of messages lists its types
// once, next to them, and a [Table] of several lists appends and takes messages. All that
// must know which messages there are reads that table: the transport, traces, the coverage
// of the simulator. A message that carries another one, its body, names the table of
// what it can carry; a body is not taken for a message, nor the other way round.
//
// # Bounds
//
// Nothing that is taken is trusted: all that can be wrong is [ErrMalformed]. A text, a list
// and a number have bounds; a list is allocated only as far as the bytes that follow can
// fill it; an enumeration is within its values. Anything else is an error, after which
// nothing of the message is used. Texts and data are copies, because a name may outlive the
// frame that brought it by days.
package wire
