package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Pages of the documentation: that of the spaces, and the folder of those of the protocols.
const (
	spacesPage    = "../../docs/spaces.md"
	protocolPages = "../../docs/protocols/"
)

// TestTableOfOptions: docs/spaces.md has a row for each option of all protocols, and each protocol's page one for each of its
// own, as the protocols describe them.
func TestTableOfOptions(t *testing.T) {
	options := Options()
	matchOptions(t, spacesPage, options, func(o *Option) bool { return o.For() == allProtocols })
	for _, protocol := range served() {
		matchOptions(t, protocolPages+protocol+".md", options, func(o *Option) bool {
			return o.For() != allProtocols && slices.Contains(o.Protocols, protocol)
		})
	}
}

// matchOptions compares the table of a page with the options that belong there.
func matchOptions(t *testing.T, page string, options []Option, belongs func(*Option) bool) {
	t.Helper()
	const begin, end = "<!-- options: written by go test ./internal/config -run TestTableOfOptions -rewrite -->\n", "<!-- end of options -->\n"
	const head = "| option | values, the default first | what it does |\n|---|---|---|\n"
	var rows strings.Builder
	for i := range options {
		if o := &options[i]; belongs(o) {
			rows.WriteString("| `" + o.Name + "` | " + o.Values() + " | " + o.Help + " |\n")
		}
	}
	table := head + rows.String()
	if rows.Len() == 0 {
		table = "No others.\n"
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
	golden.Match(t, page, before+begin+table+end+after)
}

// quoted is a name between backticks.
var quoted = regexp.MustCompile("`([A-Za-z]+)`")

// TestPagesNameMessages: the table of messages in a protocol's page has the types that its members send to one another, and no
// others.
func TestPagesNameMessages(t *testing.T) {
	protocols := member.Protocols()
	for i := range protocols {
		d := &protocols[i]
		var want []string
		for _, m := range slices.Concat(d.Messages, bodies(d.Messages)) {
			want = append(want, reflect.TypeOf(m.Zero).Name())
		}
		text, err := os.ReadFile(protocolPages + d.Name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		_, table, found := strings.Cut(string(text), "\n| message | from → to | when |\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var got []string
		for line := range strings.Lines(table) {
			for _, name := range quoted.FindAllStringSubmatch(strings.SplitN(line, "|", 3)[1], -1) {
				got = append(got, name[1])
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !found || !slices.Equal(want, got) {
			t.Errorf("%s: its page has the messages %v, want %v", d.Name, got, want)
		}
	}
}

// TestPagesHaveOneOutline: a reader finds the same things in each protocol's page, in the same order.
func TestPagesHaveOneOutline(t *testing.T) {
	outline := []string{"One lock, handed over", "Messages", "What a crash does", "Options", "When not to use it"}
	for _, protocol := range served() {
		text, err := os.ReadFile(protocolPages + protocol + ".md")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(text)) {
			if heading, is := strings.CutPrefix(line, "## "); is && slices.Contains(outline, strings.TrimSpace(heading)) {
				got = append(got, strings.TrimSpace(heading))
			}
		}
		if !slices.Equal(got, outline) || !strings.HasPrefix(string(text), "# Protocol `"+protocol+"`\n") || !strings.Contains(string(text), "](../pictures/"+protocol+".svg)") {
			t.Errorf("%s: its page has the headings %q, want %q below its name, and its picture", protocol, got, outline)
		}
	}
}

// bodies are what messages of these types can carry.
func bodies(messages []wire.Type) (all []wire.Type) {
	for _, m := range messages {
		all = append(all, m.Bodies...)
	}
	return all
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
