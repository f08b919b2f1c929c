package protocol

import "github.com/holdfast-locks/holdfast/internal/mutation"

// Mutated reports whether a named rule is disabled, so that the simulator's checks can detect the consequences. Only
// the simulator can disable one: in a serving member it is always false, at the cost of reading a length.
//
// The line of a rule reads: if cond && !protocol.Mutated("epoch check off") { ... }
func Mutated(rule string) bool { return mutation.Off(rule) }
