package published

import (
	"fmt"
	"strings"
)

// beforeTable is the text of docs/mutations.md before the table.
const beforeTable = `# What each rule is for

The algorithms that Holdfast is made of were published with holes, and so is the obvious design of leases and views. [Holes](holes.md) shows those of the published protocols one by one. Each hole is kept here as a rule that can be switched off, in the very code that ships: the simulator then finds what goes wrong, by the checks of the promises alone, and finds nothing in the same seeds with the rule in place. See one for yourself:

` + "```" + `
holdfast sim --as-published list                     the rules, and what each prevents
holdfast sim --as-published guests vote              what goes wrong without one: the story, the violation, the trace
holdfast sim --as-published --protocol election      the most telling hole of a protocol
` + "```" + `

The exit code is 129 where a promise was broken, 128 where a client was stranded, and 127 where a machine has noticed by itself, by what it asserts in production too, or asks to be woken for ever. Only the simulator can switch a rule off: no flag, variable or configuration of a member leads there. *Seeds* is how many seeds, from 1, are run until the hole is found, and within how many it must be (of a rarer one, a seed that shows it, and one of how many does); *steps* is how many steps of machines the run has until then.

Each of these runs was shrunk to a script: a run without chance, in which nothing happens but what it says. *Script* has it, with what happens in it below; ` + "`holdfast sim replay FILE`" + ` plays it, edited or not, and ` + "`--svg FILE`" + ` draws it. *Picture* is that drawing ([how to read it](simulator.md#reading-a-picture)). A script is made of the seed, or of another one whose run is shorter.

Written by ` + "`go test ./sim/published -rewrite`" + ` from the rows in sim/published, whose page says how scripts and pictures are made again.

| rule | published in | without it | breaks | shown by | seeds | steps | script | picture |
|---|---|---|---|---|---|---|---|---|
`

// Table returns docs/mutations.md for the found seeds.
func Table(found map[string]Found) string {
	var b strings.Builder
	b.WriteString(beforeTable)
	for _, r := range All() {
		f, ok := found[r.Rule]
		if !ok {
			continue // another test finds it: see below
		}
		breaks := f.Promise
		if r.Asserted {
			breaks = r.Breaks + ", asserted"
		}
		fmt.Fprintf(&b, "| <a id=%q></a>%s | %s | %s | %s | `%s` | %s | %d | %s |\n",
			r.Slug(), r.Rule, r.Source, r.Hole, breaks, r.Command(), r.found(f), f.Steps, r.shown())
	}
	b.WriteString(afterTable())
	return b.String()
}

// found describes which of how many seeds shows the row.
func (r *Row) found(f Found) string {
	if r.Rare > 0 {
		return fmt.Sprintf("%d; one of %d", f.Seed, r.Rare)
	}
	return fmt.Sprintf("%d of %d", f.Seed, r.Budget)
}

// shown has the columns of the row's script and its picture.
func (r *Row) shown() string {
	return fmt.Sprintf("[script](../sim/published/%s) | [picture](%s)", r.ScriptFile(), r.PictureFile())
}

// afterTable explains why no seed shows the other holes of the design.
func afterTable() string {
	var b strings.Builder
	b.WriteString("\n## Holes that no seed shows\n\nOf these nothing can be switched off in one place of a member's rules, or another rule prevents in a whole member what this one does; each has its test.\n\n| hole | published in | where it is tested, or why it cannot be here |\n|---|---|---|\n")
	for _, r := range All() {
		if r.Elsewhere != "" {
			fmt.Fprintf(&b, "| *%s*: %s | %s | %s |\n", r.Rule, r.Hole, r.Source, r.Elsewhere)
		}
	}
	for _, o := range Others() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", o.Hole, o.Source, o.Where)
	}
	b.WriteString(bugsWithoutRow)
	return b.String()
}

// bugsWithoutRow explains which bugs of this project have no row, though the simulator has found them.
const bugsWithoutRow = `
## Bugs that were here

What the simulator has found in this code is a row, too, where one line of a rule switches its fix off and it is found again: those that are *found here*, and *epoch not raised*. sim/testdata/seeds.txt lists all. Of these there is no row:

| bug | why |
|---|---|
| Phase 1 ended before those had answered whose agreement a view needs; a full disk was written to without a pause; after a failed write a member forgot what its clients had been promised | One line switches each fix off, and the seeds that had shown them show nothing any more, nor do 400 others with all faults and, of the disk's, 3,000 that are bent towards it: what was rebuilt around them since catches it, too. |
| With preempt, a coordinator that gave way stood again before the candidate could win | One line switches the fix off, and the seed that had shown it shows nothing any more. internal/member/membership/testdata/preempt.txt is the run that it is for: without the line two members take turns in it. |
| A client went on believing in the other of two locks of a grant, or by a hold limit that was shortened before the grant arrived | The rule is the client's, which the simulator repeats. One line switches it off there; 400 seeds with all faults show nothing. The conformance suite (lockertest) tests real clients. |
| Sessions of an unwritten cell; requests that a hello or a refusal crosses; survivors that asked one another for too long; the lease of one whose coordinator has left | No one line is the fix, but how something is done: ids are given later, a client says what it has not settled, a phase has another length. |
`

// Other is a published hole that has no switch.
type Other struct{ Hole, Source, Where string }

// Others lists the holes of the same sources that no disabled rule of a member could show, each with what closes it,
// and the test for that.
func Others() []Other {
	const (
		lock2 = "CENTRAL_LOCK2, "
		views = "docs/design/membership.md §9, "
	)
	return []Other{
		{"A clock that stands still while the machine sleeps", views + "V8", "The clocks of the simulator are those of the processes, and run on while one is paused. That real ones do is the business of internal/clock, and of its tests."},
		{"A session or a request comes back", views + "V21", "Numbers of sessions and requests carry the incarnation and the lapses, and are never given twice, so there is no check to leave out; session and protocol/central test what comes late. *id from the name* shows what follows when a member forgets that."},
		{"A grant is refused, then taken", views + "V22", "A message about a request has a number of its own, and a record that has ended answers every copy with its release: TestConversations of protocol/central."},
		{"The coordinator is ahead of its holder's view", lock2 + "H5", "Its question is kept until the view comes, and would be asked again: leaving that out costs time, and breaks nothing. testdata/traces.txt of protocol/central."},
		{"Requests queue at who is no coordinator", lock2 + "H6", "There is no queue but the table, and only a coordinator has one."},
		{"A request outlives its sender", lock2 + "H7", "What waits goes with its tenure; testdata/crash_matrix.txt of protocol/central."},
		{"A waiter for a condition is granted the lock", lock2 + "H8", "There are no conditions."},
		{"A second request of one owner is dropped", lock2 + "H10", "Every request stands by itself, with its own answer."},
		{"Stale entries survive a merge", lock2 + "H11", "No table survives its epoch: the next coordinator begins with an empty one."},
		{"An unlock that times out is held on", lock2 + "H12", "A hold ends with the call; *unlock told once* shows what follows when the rest of it is not repeated."},
		{"Reconciliation blocks views", lock2 + "H13", "It is a state of a machine, in which everything else goes on; a machine cannot wait."},
		{"A try-lock waits without a limit", lock2 + "H14", "It ends after four patiences without an answer; client_test.go of protocol/central. In a run that is healed every answer comes, so that no promise is broken without it."},
		{"Threads of a node share a lock", lock2 + "H15", "An owner is a session and an owner's name, never a process."},
		{"Two requests have one stamp", "Ricart and Agrawala, course notes", "Each request raises its member's clock, and there is no bound at which clocks begin again: a stamp is never given twice, and answers name the request anyway."},
		{"A reply to a former request counts, for a lock that is held alone", "Ricart and Agrawala, course notes", "Answers name the request. *one counter for replies* shows what follows without that where a name has several entries, and late replies are usual."},
	}
}
