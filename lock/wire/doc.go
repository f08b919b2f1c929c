// Package wire encodes and decodes values: the messages between members, and the contents of logs, copies and cells.
//
// A type has one method, Code, that codes its fields with a [Coder]. The Coder appends them to bytes, or reads them
// from there, so that the two directions cannot disagree. The fields of a message are in the order of their
// declaration, without separators. A field is
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
// The formats on disk are older than this package, and have three more kinds: numbers of 8 bytes, big endian; flags,
// which are truths as the bits of one byte; and bytes without a length, which is known or extends to the end.
//
// # Messages
//
// A [Type] is a message type with its number. A package of messages lists its types once, next to them, and a [Table]
// of several lists appends and reads messages. All code that must know every message reads that table: the transport,
// traces, the coverage of the simulator. A message that carries another one, its body, names the table of its possible
// bodies; a body is not accepted as a message, nor the other way round.
//
// # Limits
//
// No input is trusted: every possible error is an [ErrMalformed]. A text, a list and a number have limits; a list is
// allocated only as far as the bytes that follow can fill it; an enumeration is within its values. Anything else is an
// error, after which nothing of the message is used. Texts and data are copies, because a name may outlive by days the
// frame that brought it.
package wire
