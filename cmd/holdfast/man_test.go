package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// TestManPages: every command and every flag that the help lists is in the manual pages, and no line of a text is taken
// for a request of roff.
func TestManPages(t *testing.T) {
	p := &program{args: []string{name}, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	root := p.root()
	pages := manPages(root)
	for _, c := range root.Commands {
		page, written := pages[name+"-"+c.Name+".1"]
		if written == c.Hidden {
			t.Errorf("command %s: hidden %v, and has a page %v", c.Name, c.Hidden, written)
		}
		if c.Hidden {
			continue
		}
		for _, flag := range slices.DeleteFunc(flagsOf(c), func(f cli.Flag) bool { return !isShown(f) }) {
			if want := "\\fB" + roff(dashed(flag.Names()[0])) + "\\fR"; !strings.Contains(page, want) {
				t.Errorf("the page of %s has no %s", c.Name, want)
			}
		}
		for _, below := range c.Commands {
			if !strings.Contains(page, ".SH "+strings.ToUpper(roff(below.Name))+"\n") {
				t.Errorf("the page of %s has no section for %s", c.Name, below.Name)
			}
		}
		if !strings.Contains(pages[name+".1"], ".BR "+roff(name+"-"+c.Name)+" (1)") {
			t.Errorf("the page of the program does not name %s", c.Name)
		}
	}
	for file, page := range pages {
		for line := range strings.Lines(page) {
			request, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(request, ".") && !strings.Contains(" .TH .SH .SS .TP .PP .RS .RE .nf .fi .B .BR ", " "+request+" ") {
				t.Errorf("%s: %q begins a line", file, request)
			}
		}
	}
}

// TestManPagesLint has mandoc read the pages, if it is installed.
func TestManPagesLint(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	p := &program{args: []string{name}, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	folder := t.TempDir()
	for file, page := range manPages(p.root()) {
		path := filepath.Join(folder, file)
		must(t, os.WriteFile(path, []byte(page), 0o600))
		if out, err := exec.Command(mandoc, "-Tlint", "-W", "error", path).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestRoff: texts stay texts.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".TH is `bold` -x": `\&.TH is \fBbold\fR \-x`, `a\b'c`: `a\eb\(aqc`, "N…": `N\[u2026]`, "'x": `\(aqx`,
	} {
		if got := roffText(text); got != want {
			t.Errorf("roffText(%q) = %s, want %s", text, got, want)
		}
	}
	got := roffBlocks("One\ntwo.\n\n  example 'x'\n" + "  item (x): " + strings.Repeat("long ", 30))
	want := "One\ntwo.\n.PP\n.PP\n.RS 2\n.nf\nexample \\(aqx\\(aq\n.fi\n.RE\n.PP\n.TP\nitem (x)\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
