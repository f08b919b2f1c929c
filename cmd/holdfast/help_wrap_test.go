package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// TestHelpFits: on a terminal of 80 columns the help of every command is wrapped between words, and says the same.
func TestHelpFits(t *testing.T) {
	p := &program{args: []string{name}}
	texts := map[string]string{"exit codes": exitCodes}
	var render func(c *cli.Command)
	render = func(c *cli.Command) {
		var text bytes.Buffer
		cli.DefaultPrintHelp(&text, cli.CommandHelpTemplate, c)
		texts[c.Name] = text.String()
		for _, below := range c.Commands {
			render(below)
		}
	}
	render(p.root())
	long := 0
	for command, text := range texts {
		got := reflow(text, 80)
		for line := range strings.Lines(text) {
			if textWidth(strings.TrimSuffix(line, "\n")) > 80 {
				long++
			}
		}
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if textWidth(line) > 80 && len(strings.Fields(line)) > 1 {
				t.Errorf("%s: %q has %d columns", command, line, textWidth(line))
			}
		}
		if !slices.Equal(strings.Fields(got), strings.Fields(text)) {
			t.Errorf("%s: wrapped it is\n%s\nand was\n%s", command, got, text)
		}
		if wide := reflow(text, 1000); wide != text {
			t.Errorf("%s: on a wide terminal it changes", command)
		}
	}
	if long < 100 {
		t.Fatalf("only %d lines are longer than 80 columns: nothing was tried", long)
	}
}

// TestReflow: paragraphs are filled, and lists keep their column unless their terms are too wide.
func TestReflow(t *testing.T) {
	text := "DESCRIPTION:\n" +
		"   The first sentence of a paragraph that was wrapped by hand at a hundred columns or more, as all of\n" +
		"   them are.\n\n" +
		"     term    says something\n" +
		"   A line after it.\n\n" +
		"OPTIONS:\n" +
		"   --a-flag-with-a-very-long-name VALUE, -a VALUE  what it does, in more words than fit\n"
	want := "DESCRIPTION:\n" +
		"   The first sentence of a paragraph that was wrapped by\n" +
		"   hand at a hundred columns or more, as all of them are.\n\n" +
		"     term    says something\n" +
		"   A line after it.\n\n" +
		"OPTIONS:\n" +
		"   --a-flag-with-a-very-long-name VALUE, -a VALUE\n" +
		"          what it does, in more words than fit\n"
	if got := reflow(text, 60); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}
