package published

import (
	"fmt"
	"strings"
)

// beforeTable is what docs/mutations.md says before the table.
const beforeTable = `# What each rule is for

The algorithms that Holdfast is made of were published with holes, and so is the obvious design of leases and views. Each hole is kept here as a rule that can be switched off, in the very code that ships: the simulator then finds what goes wrong, by the checks of the promises alone, and finds nothing in the same seeds with the rule in place. See one for yourself:

` + "```" + `
holdfast sim --as-published list                     the rules, and what each prevents
holdfast sim --as-published guests vote              what goes wrong without one: the story, the violation, the trace
holdfast sim --as-published --protocol election      the most telling hole of a protocol
` + "```" + `

The exit code is 129 where a promise was broken, 128 where somebody was stranded, and 127 where a machine has noticed by itself, by what it asserts in production too. Only the simulator can switch a rule off: no flag, variable or configuration of a member leads there. *Seeds* is how many seeds, from 1, are run until the hole is found, and within how many it must be; *steps* is how many steps of machines the run has until then. Written by ` + "`go test ./sim/published -rewrite`" + ` from the rows in sim/published.

| rule | published in | without it | breaks | shown by | seeds | steps |
|---|---|---|---|---|---|---|
`

// Table is docs/mutations.md, for what was found.
func Table(found map[string]Found) string {
	var b strings.Builder
	b.WriteString(beforeTable)
	for _, r := range All() {
		f, ok := found[r.Rule]
		if !ok {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | | |\n", r.Rule, r.Source, r.Hole, r.Breaks, r.Elsewhere)
			continue
		}
		breaks := f.Promise
		if r.Asserted {
			breaks = r.Breaks + ", asserted"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s` | %d of %d | %d |\n", r.Rule, r.Source, r.Hole, breaks, r.Command(), f.Seed, r.Budget, f.Steps)
	}
	b.WriteString(afterTable())
	return b.String()
}

// Command shows the row.
func (r *Row) Command() string {
	if strings.Contains(r.Rule, "'") {
		return fmt.Sprintf("holdfast sim --as-published %q", r.Rule)
	}
	return "holdfast sim --as-published " + r.Rule
}

// afterTable says of the design's other holes why they have no row.
func afterTable() string {
	var b strings.Builder
	b.WriteString("\n## Holes without a switch\n\nOf these nothing can be switched off in one place of a member's rules; each has its test.\n\n| hole | published in | where it is tested, or why it cannot be here |\n|---|---|---|\n")
	for _, o := range Others() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", o.Hole, o.Source, o.Where)
	}
	return b.String()
}

// Other is a published hole that has no switch.
type Other struct{ Hole, Source, Where string }

// Others lists the holes of the same sources that no rule of a member could be switched off
// for, and says of each what closes it instead, and which test sees to that.
func Others() []Other {
	const (
		lock2 = "CENTRAL_LOCK2, "
		views = "membership.md §9, "
	)
	return []Other{
		{"A clock that stands still while the machine sleeps", views + "V8", "The clocks of the simulator are those of the processes, and run on while one is paused. That real ones do is the business of internal/clock, and of its tests."},
		{"A session or a request comes back", views + "V21", "Numbers of sessions and wishes carry the incarnation and the lapses, and are never given twice, so there is no check to leave out; session and protocol/central test what comes late. *id from the name* shows what follows when a member forgets that."},
		{"A grant is refused, then taken", views + "V22", "A word about a wish has a number of its own, and a record that has ended answers every copy with its release: TestConversations of protocol/central."},
		{"The coordinator is ahead of its holder's view", lock2 + "H5", "Its question is kept until the view comes, and would be asked again: leaving that out costs time, and breaks nothing. testdata/traces.txt of protocol/central."},
		{"Requests queue at who is no coordinator", lock2 + "H6", "There is no queue but the table, and nobody but a coordinator has one."},
		{"A request outlives its sender", lock2 + "H7", "What waits goes with its tenure; testdata/crash_matrix.txt of protocol/central."},
		{"A waiter for a condition is granted the lock", lock2 + "H8", "There are no conditions."},
		{"A second request of one owner is dropped", lock2 + "H10", "Every request is a wish of its own, with its own answer."},
		{"Stale entries survive a merge", lock2 + "H11", "No table survives its epoch: the next coordinator begins with an empty one."},
		{"An unlock that times out is held on", lock2 + "H12", "A hold ends with the call; *unlock told once* shows what follows when the rest of it is not repeated."},
		{"Reconciliation blocks views", lock2 + "H13", "It is a state of a machine, in which everything else goes on; a machine cannot wait."},
		{"A try-lock waits without a limit", lock2 + "H14", "It ends after four patiences without an answer; client_test.go of protocol/central. In a run that is healed every answer comes, so that no promise is broken without it."},
		{"Threads of a node share a lock", lock2 + "H15", "An owner is a session and an owner's name, never a process."},
	}
}
