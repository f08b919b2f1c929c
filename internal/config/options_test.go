package config

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// TestTableOfOptions: docs/spaces.md has a row for each option of each protocol, as the protocols describe it.
func TestTableOfOptions(t *testing.T) {
	const page, begin, end = "../../docs/spaces.md", "<!-- options: written by go test ./internal/config -run TestTableOfOptions -rewrite -->\n", "<!-- end of options -->\n"
	var table strings.Builder
	table.WriteString("| option | protocols | values, the default first | what it does |\n|---|---|---|---|\n")
	for _, o := range Options() {
		table.WriteString("| `" + o.Name + "` | " + o.For() + " | " + o.Values() + " | " + o.Help + " |\n")
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	}
	golden.Match(t, page, before+begin+table.String()+end+after)
}

// TestOptionsAreDescribed: each option has what its readers are shown, and its default is one that it takes.
func TestOptionsAreDescribed(t *testing.T) {
	for _, protocol := range served() {
		for _, o := range optionsOf(protocol) {
			if o.Tuning {
				continue
			}
			if o.Default == "" || !strings.HasSuffix(o.Help, ".") || strings.Count(o.Help, ". ") > 0 || o.Allowed() == "" {
				t.Errorf("%s: option %s: default %q, allowed %q, help %q", protocol, o.Name, o.Default, o.Allowed(), o.Help)
			}
			fresh := optionsOf(protocol)
			if refused := fresh.Set(o.Name, o.Default, true); refused == nil && fresh.Given()[o.Name] != "" {
				t.Errorf("%s: option %s with its default %q counts as %q", protocol, o.Name, o.Default, fresh.Given()[o.Name])
			}
		}
	}
}
