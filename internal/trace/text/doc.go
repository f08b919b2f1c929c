// Package text encodes plain Go values as human-readable text, and decodes that text exactly.
//
//	&lock.Request{Session: {Member: 7, Number: 9}, ID: 3, Name: "orders/42", Mode: exclusive, WaitEnd: never}
//	authority.Acks{Stamp: {Epoch: {Counter: 4, Candidate: 7}, Acks: [1099511627777, 12]}}
//
// It looks like Go, but is simpler: a type is named only if its context does not determine it, and zero fields (as by
// ==, so also -0) are omitted.
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
// A [Codec] is made from a list of values, one of each type that an interface field may hold; it finds the types of
// their fields by itself. So a new protocol message needs only a line in the protocol's own list. Types that could not
// be read back, such as maps and channels, are refused when the codec is made; a nonzero unexported field is refused
// when it is written.
//
// # Bounds
//
// Input is not trusted: its depth and number of elements are bounded, and a list grows only with the text read. Any
// fault is an [*Error] with its position, its field and the offending text.
package text
