package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v3"
)

// manCommand writes the manual pages, for those who make packages.
func (p *program) manCommand() *cli.Command {
	return &cli.Command{
		Name:      "man",
		Usage:     "write the manual pages into a folder",
		UsageText: name + " man DIR",
		Hidden:    true,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() != 1 || c.Args().First() == "" {
				return usageError(c.Name, "give one folder, as in '%s man build/man'", name)
			}
			folder := c.Args().First()
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return fmt.Errorf("man: make the folder: %w", err)
			}
			var failed error
			for page, text := range manPages(p.root()) {
				if err := os.WriteFile(filepath.Join(folder, page), []byte(text), 0o644); err != nil {
					failed = errors.Join(failed, fmt.Errorf("man: write a page: %w", err))
				}
			}
			return failed
		},
	}
}

// manPages returns the manual pages by file name: one of the program, and one of each command that the help lists.
func manPages(root *cli.Command) map[string]string {
	var all, others strings.Builder
	pages := map[string]string{}
	for _, c := range root.Commands {
		if c.Hidden {
			continue
		}
		fmt.Fprintf(&all, ".TP\n.BR %s (1)\n%s\n", roff(name+"-"+c.Name), roffText(c.Usage))
		page := manHead(name+"-"+c.Name, c)
		page += manBody(c, ".SH")
		for _, below := range c.Commands {
			page += ".SH " + strings.ToUpper(roff(below.Name)) + "\n" + roffText(capital(below.Usage)) + ".\n.PP\n" + roffUsage(below.UsageText) + manBody(below, ".SS")
		}
		page += ".SH SEE ALSO\n.BR " + name + " (1)\n"
		pages[name+"-"+c.Name+".1"] = page
		fmt.Fprintf(&others, ".BR %s (1)\n", roff(name+"-"+c.Name))
	}
	page := manHead(name, root) + manBody(root, ".SH") + ".SH COMMANDS\n" + all.String() +
		".SH ENVIRONMENT\nA flag overrides its environment variable. The variable of\n.B \\-\\-kill\\-after\nis\n.BR HOLDFAST_KILL_AFTER ,\nand so on.\n" +
		".SH EXIT STATUS\n" + manExitCodes() + ".SH SEE ALSO\n" + others.String()
	pages[name+".1"] = page
	return pages
}

// manHead is the begin of a page.
func manHead(title string, c *cli.Command) string {
	return fmt.Sprintf(".TH %s 1 \"\" \"%s\" \"Holdfast\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s",
		strings.ToUpper(roff(title)), roff(name+" "+version()), roff(title), roffText(c.Usage), roffUsage(c.UsageText))
}

// manBody is the description of a command, and its flags, in sections or in parts of one.
func manBody(c *cli.Command, section string) string {
	text := ""
	if c.Description != "" {
		text += section + " DESCRIPTION\n" + roffBlocks(c.Description)
	}
	if len(c.Flags) == 0 {
		return text
	}
	text += section + " OPTIONS\n"
	for _, f := range c.Flags {
		if !isShown(f) {
			continue
		}
		d := describe(f)
		title := make([]string, len(d.names))
		for i, n := range d.names {
			title[i] = "\\fB" + roff(n) + "\\fR"
		}
		line := strings.Join(title, ", ")
		if d.value != "" {
			line += " \\fI" + roff(d.value) + "\\fR"
		}
		text += ".TP\n" + line + "\n" + roffQuoted(d.usage, "I")
		if d.byDefault != "" {
			text += " (default: " + roff(d.byDefault) + ")"
		}
		text += "\n"
	}
	return text
}

// manExitCodes is the table of exit codes.
func manExitCodes() (text string) {
	for line := range strings.Lines(exitCodes) {
		if code, meaning, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			text += ".TP\n" + roffText(code) + "\n" + roffText(strings.TrimSpace(meaning)) + "\n"
		}
	}
	return text
}

// roffBlocks returns a description: lines that are not indented are filled, indented ones stay as they are, or are the
// entries of a list where they are long.
func roffBlocks(text string) string {
	var to strings.Builder
	literal := false
	begin := func(wanted bool) {
		if wanted != literal {
			to.WriteString(map[bool]string{true: ".PP\n.RS 2\n.nf\n", false: ".fi\n.RE\n.PP\n"}[wanted])
			literal = wanted
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		item, rest, found := strings.Cut(strings.TrimSpace(line), ": ")
		switch indented := strings.HasPrefix(line, " "); {
		case strings.TrimSpace(line) == "":
			begin(false)
			to.WriteString(".PP\n")
		case indented && found && len(line) > longestLiteral:
			begin(false)
			to.WriteString(".TP\n" + roffText(item) + "\n" + roffText(rest) + "\n")
		default:
			begin(indented)
			if indented {
				line = strings.TrimPrefix(strings.TrimPrefix(line, " "), " ")
			}
			to.WriteString(roffText(line) + "\n")
		}
	}
	begin(false)
	return to.String()
}

// longestLiteral is the length of an indented line that fits a terminal as it is.
const longestLiteral = 110

// roffUsage returns the lines of a usage.
func roffUsage(usage string) string {
	return ".nf\n" + roffText(usage) + "\n.fi\n"
}

// code is what a description quotes.
var code = pattern("`([^`]*)`")

// roffText returns lines of text. What stands in backquotes is bold.
func roffText(text string) string { return roffQuoted(text, "B") }

// roffQuoted returns lines of text. What stands in backquotes is in a font.
func roffQuoted(text, font string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = code().ReplaceAllString(roff(line), `\f`+font+`$1\fR`)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// roff escapes the characters that mean something to roff, and those that are not ASCII.
func roff(text string) string {
	var to strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			to.WriteString(`\e`)
		case r == '-':
			to.WriteString(`\-`)
		case r == '\'':
			to.WriteString(`\(aq`)
		case r > '~':
			fmt.Fprintf(&to, `\[u%04X]`, r)
		default:
			to.WriteRune(r)
		}
	}
	return to.String()
}

// flagText is what the help of a flag says, in its parts.
type flagText struct {
	names     []string // with their dashes
	value     string   // "" if it takes none
	usage     string
	byDefault string // "" if none is shown
}

// describe returns the parts of a flag's help.
func describe(f cli.Flag) flagText {
	doc := f.(cli.DocGenerationFlag)
	d := flagText{usage: variableHint().ReplaceAllString(doc.GetUsage(), "")}
	for _, n := range f.Names() {
		d.names = append(d.names, dashed(n))
	}
	if !doc.TakesValue() {
		return d
	}
	d.value = doc.TypeName()
	if at := placeholder().FindString(d.usage); at != "" {
		d.value = strings.Trim(at, "`")
	}
	d.byDefault = doc.GetDefaultText()
	if d.byDefault == "" {
		d.byDefault = doc.GetValue()
	}
	d.byDefault = strings.Trim(d.byDefault, `"`)
	switch {
	case !doc.IsDefaultVisible():
		d.byDefault = ""
	case f.Names()[0] == "jobs" && d.byDefault == fmt.Sprint(runtime.NumCPU()):
		d.byDefault = "the number of processors"
	}
	return d
}

var (
	// placeholder is the part of a flag's usage that names its value.
	placeholder = pattern("`[^`]*`")
	// variableHint is the environment variable at the end of the usage of a key of the configuration.
	variableHint = pattern(` \[\$[A-Z_]+\]$`)
)

// capital makes a text begin with a capital letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
