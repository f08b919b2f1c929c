package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// wrapHelp has the parser wrap its help on a terminal. Elsewhere a line of the help stays a line.
var wrapHelp = sync.OnceFunc(func() {
	cli.HelpPrinter = func(out io.Writer, template string, data any) {
		var text bytes.Buffer
		cli.DefaultPrintHelp(&text, template, data)
		// The parser has no way to report that standard output fails.
		_, _ = io.WriteString(out, fitHelp(text.String(), out))
	}
})

// fitHelp returns a help text as it is written to a file: wrapped if that is a terminal.
func fitHelp(text string, out io.Writer) string {
	file, is := out.(*os.File)
	if !is || !supervise.IsTerminal(file) {
		return text
	}
	return reflow(text, max(40, supervise.Columns(file)))
}

// helpItem is a paragraph of a help text, or a term with its text.
type helpItem struct {
	indent int
	term   string // "" in a paragraph
	column int    // of the text
	text   string
	last   int // the width of its last line
}

// Limits of the layout of a help text: terms that are wider have their text below; and a line that is at least this long
// is continued by the next one.
const (
	widestTerm = 34
	fullLine   = 85
)

// reflow wraps the lines of a help text at a width. Paragraphs are filled anew, and the texts of a list stay in their
// column. If all lines fit, nothing changes.
func reflow(text string, width int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	fits := true
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		fits = fits && textWidth(line) <= width
	}
	if fits {
		return text
	}
	var out strings.Builder
	var open *helpItem
	for _, line := range append(lines, "") {
		next := helpItemOf(line)
		switch {
		case line != "" && open != nil && next.term == "" && next.indent == open.column && open.last >= fullLine:
			open.text, open.last = open.text+" "+next.text, next.last
			continue
		case open != nil:
			open.append(&out, width)
			open = nil
		}
		if line != "" {
			open = &next
		} else {
			out.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// helpItemOf parses a line.
func helpItemOf(line string) helpItem {
	body := strings.TrimLeft(line, " ")
	item := helpItem{indent: len(line) - len(body), last: textWidth(line)}
	item.column, item.text = item.indent, body
	if term, rest, is := strings.Cut(body, gap); is {
		item.term, item.text = term, strings.TrimLeft(rest, " ")
		item.column = item.last - textWidth(item.text)
	}
	return item
}

// append appends the item, wrapped at a width.
func (i *helpItem) append(out *strings.Builder, width int) {
	column := i.column
	line := strings.Repeat(" ", i.indent) + i.term
	if i.term != "" && i.column-i.indent > widestTerm {
		column = i.indent + 7
		out.WriteString(line + "\n")
		line = ""
	}
	begun := false
	for _, word := range strings.Fields(i.text) {
		switch {
		case !begun:
			line += strings.Repeat(" ", max(0, column-textWidth(line)))
		case textWidth(line)+1+textWidth(word) > width:
			out.WriteString(line + "\n")
			line = strings.Repeat(" ", column)
		default:
			line += " "
		}
		line, begun = line+word, true
	}
	out.WriteString(line + "\n")
}
