// Package published keeps the holes of the algorithms that Holdfast is made of, and of the
// obvious design of its membership, so that each of them can be seen: a rule is
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
// what is rare: with the rule in place nothing is found in the same seeds. What is too
// rare even so has the seed that once found it, and says one of how many does.
//
// seeds.txt has for each rule the first seed that shows it, and docs/mutations.md the table
// for readers. Both are written by the test of this package, and checked by it:
//
//	go test ./sim/published              the seed of every rule shows what it is for, and nothing with the rule in place
//	go test ./sim/published -hunt        looks for the seeds again, from 1, within each budget
//	go test ./sim/published -rewrite     does so, and writes what it finds; with -run, of the rules that it names
//
// A few rules are not found by drawing seeds: what goes wrong without them another rule
// catches too, or it is too rare. Those say in Elsewhere which test finds them, and how.
//
// # Scripts and pictures
//
// A run of a minute is no explanation. So each seed was shrunk (package shrink) to a script of
// a few lines, which breaks the same promise, and nothing with the rule in place: scripts has
// them, with what happens in each below it, and docs/pictures/published what is drawn of
// them. The test plays every one, and demands that it goes as its transcript says and looks as its
// picture shows.
//
//	go test ./sim/published -run 'Script|Picture|Table|Holes' -retell     writes transcripts and pictures anew: look at what differs
//	go test ./sim/published -run TestScripts -shrink . -timeout 2h      makes all scripts anew from their seeds (about an hour)
//	go test ./sim/published -run TestScripts -shrink '^guests vote$'    that of one rule
//
// Some runs are too wild to be made calm step by step. So the shortest of the first that show
// the rule is shrunk; where that leaves a script of more than a few choices the next one is,
// too, and so on, and the smallest script is kept.
//
// # Adding a row
//
// Ask protocol.Mutated("the rule") where the rule stands, add a Row to the list of its
// source, and run the test with -rewrite; then make its script (-shrink) and its picture
// (-retell). A rule that no row has, a row whose rule the code does not know, and one without
// a script or a picture fail the test.
package published
