package published

import (
	"strings"
	"testing"
)

// TestExcerptIsTheEnd checks that an excerpt is the end of a trace without its verdict and frequent lines, with each
// line once, and fits a screen.
func TestExcerptIsTheEnd(t *testing.T) {
	trace := strings.Repeat("    1.000000  a crashes\n", 2) +
		"    1.100000  a → b:0  membership.Poll poll #1\n" +
		"    1.200000  " + strings.Repeat("ü", 200) + "\n" +
		"    1.300000  everything is healed\n" +
		"    1.400000  VIOLATION P1 at 1.3s\n"
	got := Excerpt([]byte(trace))
	if len(got) != 2 || got[0] != "    1.000000  a crashes" || !strings.HasSuffix(got[1], "ü…") || len([]rune(got[1])) != 151 {
		t.Errorf("%q", got)
	}
	if got := Excerpt([]byte(strings.Repeat("x\ny\n", 100))); len(got) != excerptLength || got[excerptLength-1] != "y" {
		t.Errorf("%d lines, %q", len(got), got)
	}
}

// TestNamesForShellsAndFiles checks that the commands in the table can be typed, and that a rule's name becomes a file
// name.
func TestNamesForShellsAndFiles(t *testing.T) {
	row := Row{Rule: "no coordinator in the poll's answer"}
	if got := row.Command(); got != `holdfast sim --as-published "no coordinator in the poll's answer"` {
		t.Error(got)
	}
	if got := row.Slug(); got != "no-coordinator-in-the-polls-answer" {
		t.Error(got)
	}
	for _, row := range All() {
		if about(row.Breaks) == "" {
			t.Errorf("%q breaks %s, which has no explanation", row.Rule, row.Breaks)
		}
	}
}
