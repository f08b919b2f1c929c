//go:build !mutations

package protocol

// Mutated reports whether a named rule is switched off, so that a test can see that
// the simulator's checks find it. That can be in a build with the tag mutations alone:
// in every other it is false, and the compiler leaves nothing of it.
//
// The line of a rule reads: if cond && !protocol.Mutated("epoch check off") { ... }
func Mutated(string) bool { return false }
