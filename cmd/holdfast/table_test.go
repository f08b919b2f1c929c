package main

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

func TestTableCells(t *testing.T) {
	made := newTable("NAME", "REASON")
	made.row("a", "")
	made.row("much longer", "it \x1b[31mbleeds\tout")
	made.row("no \xff text", "ü")
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := &program{stdout: file}
	if err := p.screen().print(made, newTable("EMPTY")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"NAME         REASON",
		"a            -",
		"much longer  it \uFFFD[31mbleeds\uFFFDout",
		"no \uFFFD text    ü",
		"",
		"EMPTY",
		"",
	}, "\n")
	if string(got) != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// TestContinuedTable: the rows of the next page stand under those of the first, without a header; a
// cell that is wider than all before moves what follows it.
func TestContinuedTable(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	o := (&program{stdout: file}).screen()
	page := newTable("NAME", "MODE", "REASON")
	for _, name := range []string{"orders/1", "ü", "a name that is wider", "z"} {
		page.row(name, "shared", "r")
		if err := o.print(page); err != nil {
			t.Fatal(err)
		}
		page = page.continued()
	}
	if err := o.print(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"NAME      MODE    REASON",
		"orders/1  shared  r",
		"ü         shared  r",
		"a name that is wider  shared  r",
		"z                     shared  r",
		"",
	}, "\n")
	if string(got) != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// A line of acquire can be split at its spaces, for every name.
func TestFormatName(t *testing.T) {
	for name, want := range map[string]string{
		"orders/42": "orders/42", "a b": `"a b"`, `"`: `"\""`, `a"b`: `a"b`, "<&>": "<&>", "a\u2003<b": "\"a\u2003<b\"",
	} {
		got := formatName(name)
		if got != want {
			t.Errorf("shownName(%q) = %s, want %s", name, got, want)
		}
		if !strings.HasPrefix(got, `"`) {
			continue
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != name {
			t.Errorf("%s is %q in JSON: %v", got, back, err)
		}
	}
}

func TestFormatCells(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{formatName("orders/42"), "orders/42"},
		{formatName(`a "b"`), `"a \"b\""`},
		{formatMode(schema.Mode_MODE_SLOTS, 2, 5), "slots 2/5"},
		{formatMode(schema.Mode_MODE_SHARED, 0, 0), "shared"},
		{formatToken(uint64(0)), ""},
		{formatToken(uint64(1 << 63)), "9223372036854775808"},
		{cmp.Or("", "the client"), "the client"},
		{cmp.Or("job-7", "the client"), "job-7"},
	} {
		if row.got != row.want {
			t.Errorf("shown as %s, want %s", row.got, row.want)
		}
	}
}

func TestColourIsForTerminalsOnly(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if (&program{}).colour(file) {
		t.Error("a file is given colours")
	}
}

// TestWideCharacters: columns stay aligned by what a terminal shows, and a cut counts the same.
func TestWideCharacters(t *testing.T) {
	rows := []string{"orders/42", "注文/四十二", "🔒/release", "cafe\u0301", "👩‍👩‍👧/x", "plain"}
	for _, limit := range []int{0, 14} {
		o := &output{columns: limit}
		made := newTable("NAME", "MODE").long("NAME")
		for _, name := range append(rows, "注文注文注文注文注文注文") {
			made.row(name, "shared")
		}
		text := string(made.append(nil, o))
		want := -1
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			before := strings.TrimSuffix(strings.TrimSuffix(line, "MODE"), "shared")
			if at := ansi.StringWidth(before); want >= 0 && at != want {
				t.Errorf("limit %d: the second column of %q is at %d, want %d", limit, line, at, want)
			} else if want < 0 {
				want = at
			}
			if wide := ansi.StringWidth(line); limit > 0 && wide > 8+len(gap)+len("shared") {
				t.Errorf("limit %d: %q takes %d columns", limit, line, wide)
			}
		}
		if cut := strings.Contains(text, "…"); cut != (limit > 0) {
			t.Errorf("limit %d: cut is %v:\n%s", limit, cut, text)
		}
	}
}

// TestFoldedSentences: on a terminal a sentence goes on below its beginning, and nothing of it is cut.
func TestFoldedSentences(t *testing.T) {
	why := "the quorum is lost: of the voters of view 2 only m3 can be heard. No lock is granted until enough of them are back: start them."
	made := func() *table {
		w := newTable("MEMBER", "STATE", "WHY").folded("WHY").states("STATE")
		w.row("m3", "joining", why)
		return w
	}
	lines := strings.Split(strings.TrimSuffix(string(made().append(nil, &output{columns: 60})), "\n"), "\n")
	at := strings.Index(lines[0], "WHY")
	var said []string
	for _, line := range lines[1:] {
		if textWidth(line) > 60 || len(said) > 0 && strings.TrimLeft(line[:at], " ") != "" {
			t.Errorf("the line is %q", line)
		}
		said = append(said, line[at:])
	}
	if got := strings.Join(said, " "); len(said) < 3 || got != why {
		t.Errorf("%d lines say %q", len(said), got)
	}
	below := strings.Split(strings.TrimSuffix(string(made().append(nil, &output{columns: 40})), "\n"), "\n")
	said = nil
	for _, line := range below[2:] {
		if said = append(said, strings.TrimSpace(line)); textWidth(line) > 40 || !strings.HasPrefix(line, "    ") {
			t.Errorf("without room on the line the line is %q", line)
		}
	}
	if got := strings.Join(said, " "); got != why || strings.TrimSpace(below[1]) != "m3      joining" {
		t.Errorf("without room on the line: %q", below)
	}
	if whole := string(made().append(nil, &output{})); !strings.HasSuffix(whole, why+"\n") {
		t.Errorf("in a pipe: %q", whole)
	}
}

// TestShedColumns: on a terminal the named columns are left out, in their order, until the others fit.
func TestShedColumns(t *testing.T) {
	for columns, want := range map[int]string{0: "A  BETA  GAMMA  DELTA", 21: "A  BETA  GAMMA  DELTA", 20: "A  BETA  DELTA", 12: "A  DELTA", 2: "A  DELTA"} {
		o := &output{columns: columns}
		made := newTable("A", "BETA", "GAMMA", "DELTA")
		made.row("1", "2", "3", "4")
		shed := made.shed(o, []string{"GAMMA", "NONE", "BETA"})
		head, _, _ := strings.Cut(string(made.append(nil, o)), "\n")
		if head != want || shed != (head != "A  BETA  GAMMA  DELTA") {
			t.Errorf("at %d columns: %q, %v, want %q", columns, head, shed, want)
		}
	}
}
