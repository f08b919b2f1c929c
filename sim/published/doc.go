// Package published keeps the holes of the algorithms that Holdfast is made of, and of the
// obvious design of its membership, so that everybody can see each of them: a rule is
// switched off, and the simulator finds by the checks of the promises alone what follows.
//
// A published hole is not a second implementation. It is the code that ships with one rule
// switched off where it stands (package internal/mutation), and nothing else: what breaks
// without the rule, and does not break with it, is what the rule is for.
//
// # A row
//
// [All] lists the rules. Each [Row] has the rule's name, as the code asks for it by
// protocol.Mutated; where the hole was published; what goes wrong, in two sentences; which
// promise that breaks; and how it is found: what is simulated, with which faults, bent by
// which bias, and within how many seeds, counted from 1. The bias only makes happen soon
// what is rare: with the rule in place nothing is found in the same seeds.
//
// seeds.txt has for each rule the first seed that shows it, and docs/mutations.md the table
// for readers. Both are written by the test of this package, and checked by it:
//
//	go test ./sim/published              the seed of every rule shows what it is for, and nothing with the rule in place
//	go test ./sim/published -hunt        looks for the seeds again, from 1, within each budget
//	go test ./sim/published -rewrite     does so, and writes what it finds
//
// A few rules are not found by drawing seeds: whatever goes wrong without them another rule
// catches too, or it is too rare. Those say in Elsewhere which test finds them, and how.
//
// # Adding a row
//
// Ask protocol.Mutated("the rule") where the rule stands, add a Row to the list of its
// source, and run the test with -rewrite. A rule that no row has, and a row whose rule the
// code does not know, fail the test.
package published
