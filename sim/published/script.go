package published

import (
	"embed"
	"fmt"

	"github.com/holdfast-locks/holdfast/sim"
)

// Scripted reports whether a script and a picture of the row are kept: of each that seeds
// find.
func (r *Row) Scripted() bool { return r.Budget > 0 }

//go:embed scripts/*.txt
var scripts embed.FS

// ScriptFile is where the row's script is kept, from the folder of this package.
func (r *Row) ScriptFile() string { return "scripts/" + r.Slug() + ".txt" }

// Script returns the smallest script that is known to show the row, and the transcript of its
// run: the verdict, and what happened. The error says that none is kept, or
// what is wrong with it.
func (r *Row) Script() (script *sim.Script, transcript string, err error) {
	text, err := scripts.ReadFile(r.ScriptFile())
	if err != nil {
		return nil, "", fmt.Errorf("rule %q: %w", r.Rule, err)
	}
	if script, transcript, err = sim.ParseScript(string(text)); err != nil {
		return nil, "", fmt.Errorf("rule %q: %s: %w", r.Rule, r.ScriptFile(), err)
	}
	if script.Without != r.Rule || script.Protocol != r.Protocol {
		return nil, "", fmt.Errorf("rule %q: %s is of protocol %q without %q", r.Rule, r.ScriptFile(), script.Protocol, script.Without)
	}
	return script, transcript, nil
}
