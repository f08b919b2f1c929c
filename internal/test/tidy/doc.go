// Package tidy checks properties of the code itself, as a test: which package imports which, the purity of the rules
// packages, and measurable style. Things it cannot check (a good name, a true comment) are left to the reader.
//
// A check is a [Rule]: a name, the sentence that says why it exists, and a function from the [Tree] to its findings.
// Each finding gives the place, the fault, and the fix. The tree is held in memory, so each rule is tested against a
// few lines of bad source that it must find and a few of good source that it must pass.
//
// The layers are in layers.go. A package in no layer is itself a finding: the author who adds one decides what it may
// import.
//
// A range over a map can be waived where it occurs, by a comment on the line above that gives a reason:
//
//	//tidy:unordered the sum does not depend on the order
//	for _, hold := range holds {
//
// The order of a map matters in rules packages because a run must be repeatable from its events.
//
// Checks that linters can do are in .golangci.yml: imports from outside this module, the length of functions, no clocks
// in rules packages, no sleeps in tests.
package tidy
