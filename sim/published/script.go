package published

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/draw"
	"github.com/holdfast-locks/holdfast/sim/shrink"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Scripted reports whether a script and a picture of the row are kept: of each that seeds
// find.
func (r *Row) Scripted() bool { return r.Budget > 0 }

//go:embed scripts/*.txt
var scripts embed.FS

// ScriptFile is where the row's script is kept, from the folder of this package.
func (r *Row) ScriptFile() string { return "scripts/" + r.Slug() + ".txt" }

// Script returns the smallest script that is known to show the row, and what is told of it
// when it is played: the verdict, and what happened. The error says that none is kept, or
// what is wrong with it.
func (r *Row) Script() (script *sim.Script, told string, err error) {
	text, err := scripts.ReadFile(r.ScriptFile())
	if err != nil {
		return nil, "", fmt.Errorf("rule %q: %w", r.Rule, err)
	}
	if script, told, err = sim.ParseScript(string(text)); err != nil {
		return nil, "", fmt.Errorf("rule %q: %s: %w", r.Rule, r.ScriptFile(), err)
	}
	if script.Without != r.Rule || script.Protocol != r.Protocol {
		return nil, "", fmt.Errorf("rule %q: %s is of protocol %q without %q", r.Rule, r.ScriptFile(), script.Protocol, script.Without)
	}
	return script, told, nil
}

// Picture plays the row's script, and lets by be told its story.
func (r *Row) Picture(by func(timeline.Event)) error {
	script, _, err := r.Script()
	if err != nil {
		return err
	}
	p, _ := sim.Find(script.Protocol)
	defer script.SwitchOff()()
	_, err = sim.Play(script, sim.Stage{Protocol: p, Observe: by})
	return err
}

// attempts is how many seeds that show a row are shrunk, until one of them gives a script
// of few choices: some runs are so wild that they cannot be made calm step by step.
const (
	attempts = 6
	few      = 8
)

// Shrink returns the smallest script that was made of any of the first seeds within the
// budget that show the row, those of the shortest runs first: one that breaks what the row
// breaks, and nothing with the rule in place. It is text for a file, with the reason above it
// and nothing below. The error says that no seed shows the row, or why a run could not be
// made.
func (r *Row) Shrink(how shrink.Config) (string, error) {
	seeds, err := r.telling()
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
		sim.ScriptHeader, r.Hole, from, r.Protocol, r.faults(), best.From.Choices)
	return strings.Replace(best.Script.String(), sim.ScriptHeader+"\n", head, 1), nil
}

// telling lists the first seeds that show the row, those of the shortest runs first.
func (r *Row) telling() ([]uint64, error) {
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

// shrink makes of one seed the smallest script that shows the row.
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

// PictureFile is where the picture of the row's script is kept, from the folder docs.
func (r *Row) PictureFile() string { return "pictures/published/" + r.Slug() + ".svg" }

// Drawing says how the picture of the row's script is drawn.
func (r *Row) Drawing() draw.Picture {
	return draw.Picture{
		Title:  fmt.Sprintf("%s without %q", r.Protocol, r.Rule),
		Repeat: "holdfast sim replay sim/published/" + r.ScriptFile(),
		Events: 120,
	}
}
