// Package text writes plain values as text that a person can read, and reads that text
// back exactly.
//
//	&lock.Request{Session: {Member: 7, Number: 9}, ID: 3, Name: "orders/42", Mode: exclusive, WaitEnd: never}
//	authority.Acks{Stamp: {Epoch: {Counter: 4, Candidate: 7}, Acks: [1099511627777, 12]}}
//
// It looks like Go, and is simpler: a type is named only where it is not known from what
// it stands in, and a field that is zero (as == has it: also -0) is not written.
//
//	truth         true, false
//	number        42, -7, 0.05, NaN, +Inf
//	duration      1.5s; the longest one, which stands for what does not come, is never
//	enumeration   what its String says, where that is a word of its own; else its number
//	text          "as in Go"
//	bytes         x"00ff"
//	list          [1, 2]; nil and [] are two things
//	struct        {Field: value, Field: value}
//	pointer       &value, nil
//	any value     its type, then the value: lock.Grant{Holds: 1}, holdfast.Loss("broken")
//	error         a sentinel by its name; one of a listed type as such; any other as
//	              error("what it says", what it is), with everything that a program can
//	              test it for
//
// A [Codec] is made of a list of values, one of each type that can stand where any value
// can: the types of their fields it finds by itself. So a new message of a protocol needs
// nothing here but its line in the protocol's own list. A value that could not be read back, as a
// map, a channel or a field that is not exported, is refused when the codec is made; of a
// field that is not exported, only when it is not zero.
//
// # Bounds
//
// Input is not trusted: its depth and its number of elements are
// bounded, a list grows only with the text that it is made of, and anything that is wrong is
// an [*Error] with its place, its field and what stands there.
package text
