// Package tidy checks properties of the code itself, as a test: which package
// imports which, that the rules packages stay pure, and the style that can be
// counted. What it cannot check (a good name, a true comment) is left to the
// reader.
//
// A check is a [Rule]: a name, the sentence that says why it exists, and a function
// from the [Tree] to its findings. Each finding says where, what, and how to mend
// it. The tree is held in memory, so each rule is tested against a few lines of bad
// source that it must find and a few of good source that it must pass.
//
// The layers stand in layers.go. A package that is in no layer is itself a finding:
// the author that adds one decides what it may import.
//
// A range over a map can be waived where it occurs, by a comment on the line above that
// gives a reason:
//
//	//tidy:unordered the sum does not depend on the order
//	for _, hold := range holds {
//
// The order of a map matters in rules packages because a run must be repeatable
// from its events.
//
// What linters can say, .golangci.yml says: what packages import from outside of this
// module, how long functions are, that rules read no clock and that tests do not sleep.
package tidy
