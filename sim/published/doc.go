// Package published keeps the holes of the algorithms behind Holdfast, and of the obvious design of its membership, so
// that each can be demonstrated: a rule is disabled, and the simulator finds the consequence with its checks of the
// promises alone.
//
// A published hole is not a second implementation. It is the production code with one rule disabled (package
// internal/mutation), and nothing else: anything that breaks only without the rule is the purpose of the rule.
//
// # A row
//
// [All] lists the rules. Each [Row] has the rule's name, as the code passes it to protocol.Mutated; the place where the
// hole was published; the failure, in two sentences; the broken promise; and how to find it: the simulated protocol,
// the faults, the bias, and the maximum number of seeds, counted from 1. The bias only makes rare events happen soon:
// with the rule in place the same seeds find nothing. A failure that is too rare even so has the seed that once found
// it, with its odds.
//
// seeds.txt has for each rule the first seed that shows it, and docs/mutations.md has the table for readers. The test
// of this package writes and checks both:
//
//	go test ./sim/published              the seed of every rule fails without it, and passes with it
//	go test ./sim/published -hunt        looks for the seeds again, from 1, within each budget
//	go test ./sim/published -rewrite     does so, and writes the seeds; with -run, of the rules that it selects
//
// A few rules cannot be found by drawing seeds: another rule catches the failure too, or it is too rare. Elsewhere
// names the test that finds such a rule, and how.
//
// # Scripts and pictures
//
// A run of a minute is not an explanation. So each seed was shrunk (package shrink) to a script of a few lines, which
// breaks the same promise, and breaks nothing with the rule in place. The folder scripts has them, each followed by its
// transcript, and docs/pictures/published has their pictures. The test plays every script, and compares the run with
// its transcript and its picture.
//
//	go test ./sim/published -run 'Script|Picture|Table|Holes' -retell     rewrites transcripts and pictures: review the diff
//	go test ./sim/published -run TestScripts -shrink . -timeout 2h      makes all scripts again from their seeds (about an hour)
//	go test ./sim/published -run TestScripts -shrink '^guests vote$'    that of one rule
//
// Some runs resist step-by-step shrinking. So the shortest of the first runs that show the rule is shrunk; if its
// script has more than a few choices the next one is shrunk too, and so on, and the smallest script is kept.
//
// # Adding a row
//
// Call protocol.Mutated("the rule") where the rule is implemented, add a Row to the list of its source, and run the
// test with -rewrite; then make its script (-shrink) and its picture (-retell). A rule without a row, a row whose rule
// the code does not have, and a row without a script or a picture fail the test.
package published
