package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// TestCommandPage compares docs/cli.md with the commands; -rewrite writes it.
func TestCommandPage(t *testing.T) {
	p := &program{args: []string{name}, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	var text strings.Builder
	text.WriteString("# Commands\n\nWritten by `go test ./cmd/holdfast -run TestCommandPage -rewrite` from `--help`.\n\n" +
		"A flag overrides its environment variable. The variable of `--kill-after` is `HOLDFAST_KILL_AFTER`, and so on. `make man` writes manual pages of the commands.\n\n" +
		"Tables fit 80 columns with usual values. `--wide` prints all columns, and exact times instead of ages. On a terminal the long " +
		"cells of a wider line are cut, to its width or to `COLUMNS`, and the words of states have colours, unless `NO_COLOR` is set. " +
		"In a pipe or a file nothing is cut. Scripts read `-o json`, `-o yaml`, or `-o name`: a name on each line, in quotes if it has a space.\n\n" +
		"## Flags of every command that asks a member\n")
	shared := memberFlags()
	flagTable(&text, shared)
	for _, command := range p.root().Commands {
		commandSection(&text, command, "##", command.Name, shared)
	}
	text.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for line := range strings.Lines(exitCodes) {
		if code, meaning, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			fmt.Fprintf(&text, "| %s | %s |\n", code, strings.TrimSpace(meaning))
		}
	}
	golden.Match(t, "../../docs/cli.md", text.String())
}

// commandSection writes what the help of a command has, and of those below it.
func commandSection(to *strings.Builder, c *cli.Command, level, called string, shared []cli.Flag) {
	if c.Hidden {
		return
	}
	usage := c.UsageText
	if usage == "" {
		usage = name + " " + called + " [flags]"
	}
	fmt.Fprintf(to, "\n%s %s\n\n%s.\n\n```text\n%s\n```\n", level, called, capital(c.Usage), usage)
	if description := strings.TrimSpace(strings.Replace(c.Description, optionsOfSpaces(), "", 1)); description != "" {
		fmt.Fprintf(to, "\n```text\n%s\n```\n", description)
	}
	if c.Name == "serve" {
		to.WriteString("\n[Lockspaces and their options](spaces.md) lists the options of `--space`.\n")
	}
	own := slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool {
		return slices.ContainsFunc(shared, func(s cli.Flag) bool {
			return s.Names()[0] == f.Names()[0] && usageOf(s) == usageOf(f)
		})
	})
	if len(own) > 0 {
		flagTable(to, own)
	}
	for _, below := range c.Commands {
		commandSection(to, below, level+"#", called+" "+below.Name, shared)
	}
}

// usageOf returns what the help says of a flag.
func usageOf(f cli.Flag) string { return f.(cli.DocGenerationFlag).GetUsage() }

// flagTable writes a row for each flag: its names with its value, its usage, and its default.
func flagTable(to *strings.Builder, flags []cli.Flag) {
	to.WriteString("\n| flag | meaning | default |\n|---|---|---|\n")
	for _, f := range flags {
		d := describe(f)
		title := strings.TrimSpace(strings.Join(d.names, ", ") + " " + d.value)
		cell := strings.NewReplacer("|", "\\|", "`", "")
		fmt.Fprintf(to, "| `%s` | %s | %s |\n", cell.Replace(title), cell.Replace(d.usage), cell.Replace(d.byDefault))
	}
}
