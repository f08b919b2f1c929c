package published

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/shrink"
)

// attempts is the number of seeds that are shrunk until one gives a script of few choices: some runs resist
// step-by-step shrinking.
const (
	attempts = 6
	few      = 8
)

// Shrink returns the smallest script made of any of the first seeds within the budget that show the row, shortest runs
// first: one that breaks the row's promise, and nothing with the rule in place. It is text for a file, with the reason
// above it and nothing below. It returns an error if no seed shows the row, or if a run could not be made.
func (r *Row) Shrink(how shrink.Config) (string, error) {
	seeds, err := r.candidates()
	if err != nil {
		return "", err
	}
	var best *shrink.Shrunk
	var from uint64
	for _, seed := range seeds {
		shrunk, err := r.shrink(seed, how)
		if err != nil {
			return "", err
		}
		if best == nil || len(shrunk.Script.Choices) < len(best.Script.Choices) {
			best, from = shrunk, seed
		}
		if len(best.Script.Choices) <= few {
			break
		}
	}
	if best == nil {
		return "", fmt.Errorf("rule %q: no seed from %d to %d breaks %s", r.Rule, max(r.Seed(), r.From()), r.To(), Seeds()[r.Rule].Promise)
	}
	best.Script.Without = r.Rule
	head := fmt.Sprintf("%s\n# %s\n# Shrunk from seed %d of %s with faults %s, which makes %d unusual choices.\n",
		sim.ScriptHeader, r.Hole, from, r.Protocol, cmp.Or(r.Faults, "all"), best.From.Choices)
	return strings.Replace(best.Script.String(), sim.ScriptHeader+"\n", head, 1), nil
}

// candidates lists the first seeds that show the row, shortest runs first.
func (r *Row) candidates() ([]uint64, error) {
	var shown []sim.Result
	for seed := max(r.Seed(), r.From()); seed <= r.To() && len(shown) < attempts; seed++ {
		result, err := r.Run(seed, nil)
		if err != nil {
			return nil, err
		}
		if r.Shows(&result) && result.Violation.Promise == Seeds()[r.Rule].Promise {
			shown = append(shown, result)
		}
	}
	slices.SortStableFunc(shown, func(a, b sim.Result) int { return cmp.Compare(a.Steps, b.Steps) })
	var seeds []uint64
	for i := range shown {
		seeds = append(seeds, shown[i].Seed)
	}
	return seeds, nil
}

// shrink shrinks one seed to the smallest script that shows the row.
func (r *Row) shrink(seed uint64, how shrink.Config) (*shrink.Shrunk, error) {
	config, err := r.Config()
	if err != nil {
		return nil, err
	}
	how.Accept = func(script *sim.Script) bool {
		mutation.Switch("")
		defer mutation.Switch(r.Rule)
		played, err := sim.Play(script, sim.Stage{Protocol: config.Protocol})
		return err == nil && played.Outcome == sim.OK
	}
	mutation.Switch(r.Rule)
	defer mutation.Switch("")
	return shrink.Seed(config, seed, how)
}
