// Package tidy checks properties of the code itself, as a test: the imports between packages, the purity of the rules
// packages, and countable style. It leaves the rest (a good name, a true comment) to the reader.
//
// A check is a [Rule]: a name, a sentence with its purpose, and a function from the [Tree] to its findings. Each
// finding says where, what, and how to fix it. The tree is held in memory, so each rule is tested against a few lines
// of bad source that it must find and a few of good source that it must pass.
//
// The layers are in layers.go. A package outside all layers is itself a finding: the author that adds one decides what
// it may import.
//
// A range over a map can be waived by a comment on the line above that gives a reason:
//
//	//tidy:unordered the sum does not depend on the order
//	for _, hold := range holds {
//
// The order of a map matters in rules packages because a run must be repeatable from its events.
//
// Checks that linters support are in .golangci.yml: imports from other modules, the length of functions, no clocks in
// rules and no sleeps in tests.
package tidy
