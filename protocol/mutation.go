package protocol

import "github.com/holdfast-locks/holdfast/internal/mutation"

// Mutated reports whether a named rule is switched off, so that the
// simulator's checks can find what follows. Only the simulator can do that: in a member that
// serves it is always false, at the price of one look at a length.
//
// The line of a rule reads: if cond && !protocol.Mutated("epoch check off") { ... }
func Mutated(rule string) bool { return mutation.Off(rule) }
