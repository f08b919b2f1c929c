// Package codec turns the messages between members into bytes and back.
//
// A message is the port of the machine it is for, the number of its type, and its
// fields in the order of their declaration, one message after the other without
// anything between. A field is
//
//	number     a varint; signed ones and durations in zigzag
//	id         8 bytes, little endian: ids are random, and a varint would be longer
//	truth      one byte, 0 or 1
//	text       its length as a varint, then its bytes
//	list       its length as a varint, then its elements
//	optional   a truth, then the value if there is one; a version that is zero is none
//	error      its kind, then what it says (failure.go)
//	body       what a message says: the number of its type, then its fields (envelope.go, consensus.go)
//	data       its length as a varint, then its bytes
//	operation  as it is in an entry of a log (replica.Op.Append), a mark as it is kept (group.Mark.Append)
//
// Each type has one function that does both directions, so that they cannot disagree
// (what every hot message has in it is written apart, for speed, and a test compares);
// kinds.go says which type has which number. testdata has an example of each, so that
// a change of the format is noticed: it needs another transport.Version.
//
// # Bounds
//
// Nothing that is decoded is trusted. A text, a list and a number have bounds; a list
// is allocated only as far as the bytes that follow can fill it; an enumeration is
// within its values. Anything else is an error, after which nothing of the message is
// used. Decoding copies texts and data, because a name may outlive the frame that brought
// it by days.
package codec
