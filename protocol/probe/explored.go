package probe

import "github.com/holdfast-locks/holdfast/protocol"

// Field describes the purpose of a field of a machine or of a message, if its type alone does not: it distinguishes no
// states, or only some.
type Field struct {
	// In is a value of the struct that has it. Name is the path, with a dot between the names of embedded structs.
	In   any
	Name string
	Kind Kind
	// Unless, if not empty, names another field: while that is zero this one has no meaning.
	Unless string
}

// Kind is the purpose of a field.
type Kind uint8

// What a field is for.
const (
	Nothing  Kind = iota // that can happen; or, with Unless, all that it is for while that is not zero
	Deadline             // an instant that is compared with the clock
	ViewOf               // the number of a view, which is compared with those of views alone
)

// Links describes the delivery of ordered messages: one that arrives out of order is ignored, and sent again.
type Links interface {
	// InTurn reports whether a message is taken in turn.
	InTurn(message protocol.Message) bool
	// Late reports whether a message in order is an answer that can change nothing any more, because another answer has
	// come before.
	Late(message protocol.Message) bool
	// Outdates returns the messages that a note's member ignores from now on; nil if there are none.
	Outdates(note protocol.Note) func(message protocol.Message) bool
	// Ignored reads off a note that its member has ignored a message, as it may after a crash.
	Ignored(note protocol.Note) bool
}
