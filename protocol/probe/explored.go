package probe

import "github.com/holdfast-locks/holdfast/protocol"

// Field says what a field of a machine or of a message is for, where its type alone does not: it makes no difference between
// states, or only between some.
type Field struct {
	// In is a value of the struct that has it. Name leads there, with a point between the names of structs in place.
	In   any
	Name string
	Kind Kind
	// Unless, if not empty, names another field: while that is zero this one says nothing.
	Unless string
}

// Kind is what a field is for.
type Kind uint8

// What a field is for.
const (
	Nothing  Kind = iota // that can happen; or, with Unless, all that it is for while that is not zero
	Deadline             // an instant of which it is asked whether it has come
	ViewOf               // the number of a view, which is compared with those of views alone
)

// Links says how messages travel of which those of one link are taken in turn: one that comes out of turn is as if it
// had not come, and is sent again.
type Links interface {
	// InTurn reports whether a message is taken in turn.
	InTurn(message protocol.Message) bool
	// Late reports whether a message in turn is an answer that changes nothing for good once it changes nothing: what
	// it answers is over, because another answer has come before.
	Late(message protocol.Message) bool
	// Outdates reads off a note which messages its member ignores from now on; nil where it is about none.
	Outdates(note protocol.Note) func(message protocol.Message) bool
	// Ignored reads off a note that its member has ignored a message, as it may after a crash.
	Ignored(note protocol.Note) bool
}
