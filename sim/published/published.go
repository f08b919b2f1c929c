package published

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Row is a rule that some published algorithm, or the obvious design, lacks.
type Row struct {
	// Rule is the name by which the code asks whether the rule is disabled.
	Rule string
	// Protocol is the simulated protocol.
	Protocol string
	// Source is where the hole was published.
	Source string
	// Hole describes the behaviour without the rule and its consequence, in two sentences.
	Hole string
	// Breaks is the broken promise, as in docs/guarantees.md.
	Breaks string
	// Faults are the faults that may happen, as sim.ParseFaults reads them. "" means all.
	Faults string
	// Members is the number of members. Zero lets each run draw it.
	Members int
	// Duration is how long faults happen. Zero means 60 s.
	Duration time.Duration
	// Bias makes rare events happen soon.
	Bias sim.Bias
	// Survive demands that survivors of a coordinator's crash keep their locks.
	Survive bool
	// Budget is the number of seeds within which the failure must be found.
	Budget int
	// First is the seed from which they are counted. Zero means 1: a reader that knows only the faults finds it. Any
	// other value means that it is too rare for that: one of so many seeds as Rare says, counted when it was found, and
	// First is that seed.
	First uint64
	Rare  int
	// Asserted reports that machines notice the failure themselves, by an invariant that they assert in production too,
	// before a wrong answer reaches any user.
	Asserted bool
	// Elsewhere names the test that finds it, if seeds do not. Then Budget is zero.
	Elsewhere string
}

// All lists every row: those of CENTRAL_LOCK2, of Geode, of the algorithms without a coordinator, of the obligations
// that Raft leaves to its users, of the course notes on elections, of the obvious design of views and leases, and those
// found in this project.
func All() []Row {
	return slices.Concat(central(), grantor(), grantorLate(), permission(), permissionClocks(), bakery(), bakeryTerms(), claim(), consensusRows(), moved(), behind(), election(), leases(), values(), observers(), deadlocks(), tenures(), views(), successions(), pledges(), found())
}

// For lists the rows of a protocol, the most instructive ones first.
func For(protocol string) []Row {
	return slices.DeleteFunc(All(), func(r Row) bool { return r.Protocol != protocol })
}

// Find returns the row of a rule. The error lists the rules.
func Find(rule string) (Row, error) {
	for _, r := range All() {
		if strings.EqualFold(r.Rule, rule) {
			return r, nil
		}
	}
	var known []string
	for _, r := range All() {
		known = append(known, strconv.Quote(r.Rule))
	}
	return Row{}, fmt.Errorf("%q is no rule that can be switched off; these can be: %s", rule, strings.Join(known, ", "))
}

// Config returns the configuration that finds the row.
func (r *Row) Config() (sim.Config, error) {
	protocol, known := sim.Find(r.Protocol)
	if !known {
		return sim.Config{}, fmt.Errorf("rule %q: %q is no protocol that can be simulated", r.Rule, r.Protocol)
	}
	faults, err := sim.ParseFaults(cmp.Or(r.Faults, "all"))
	if err != nil {
		return sim.Config{}, fmt.Errorf("rule %q: %w", r.Rule, err)
	}
	return sim.Config{
		Protocol: protocol, Members: r.Members, Faults: faults, Duration: r.Duration, Bias: r.Bias, Survive: r.Survive,
	}, nil
}

// Run simulates one seed without the rule. If trace is not nil, it gets a line for each event. During the run the rule
// is off in the whole process, so no code that relies on it may run there.
func (r *Row) Run(seed uint64, trace io.Writer) (sim.Result, error) {
	mutation.Switch(r.Rule)
	defer mutation.Switch("")
	return r.Kept(seed, trace)
}

// Observe simulates one seed without the rule, and passes its timeline to by.
func (r *Row) Observe(seed uint64, by func(timeline.Event)) (sim.Result, error) {
	mutation.Switch(r.Rule)
	defer mutation.Switch("")
	return r.run(seed, nil, by)
}

// Kept simulates one seed with the rule in place.
func (r *Row) Kept(seed uint64, trace io.Writer) (sim.Result, error) { return r.run(seed, trace, nil) }

func (r *Row) run(seed uint64, trace io.Writer, by func(timeline.Event)) (sim.Result, error) {
	config, err := r.Config()
	if err != nil {
		return sim.Result{}, err
	}
	config.Observe = by
	return sim.Run(config, seed, trace)
}

//go:embed seeds.txt
var seeds string

// Seed is the first seed that shows the failure without the rule, from seeds.txt; zero if seeds do not show it.
func (r *Row) Seed() uint64 { return Seeds()[r.Rule].Seed }

// Found is the record of a seed that shows a failure.
type Found struct {
	Seed    uint64
	Promise string
	Steps   int // of machines, until the promise was broken
}

// Seeds returns the contents of seeds.txt, by rule.
func Seeds() map[string]Found {
	all := map[string]Found{}
	for line := range strings.Lines(seeds) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(fields) < 4 || fields[0] == "#" {
			continue
		}
		seed, badSeed := strconv.ParseUint(fields[0], 10, 64)
		steps, badSteps := strconv.Atoi(fields[2])
		if badSeed == nil && badSteps == nil {
			all[fields[3]] = Found{seed, fields[1], steps}
		}
	}
	return all
}
