package published

import (
	"embed"
	"fmt"

	"github.com/holdfast-locks/holdfast/sim"
)

// Scripted reports whether the row has a script and a picture: each row that seeds find has them.
func (r *Row) Scripted() bool { return r.Budget > 0 }

//go:embed scripts/*.txt
var scripts embed.FS

// ScriptFile is the path of the row's script, from the folder of this package.
func (r *Row) ScriptFile() string { return "scripts/" + r.Slug() + ".txt" }

// Script returns the smallest known script that shows the row, and the transcript of its run: the verdict, and the
// events. It returns an error if there is none, or if it is wrong.
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
