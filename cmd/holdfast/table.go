package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/supervise"
	"github.com/holdfast-locks/holdfast/wire"
)

// table is what people read: a header line, and columns two spaces apart.
type table struct {
	text    bytes.Buffer
	columns *tabwriter.Writer
	widths  []int // of the columns, in characters
	ruled   bool  // its first line gives the columns their widths, and is not printed
}

func newTable(header ...string) *table {
	t := &table{}
	t.columns = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.row(header...)
	return t
}

// row adds a line. An empty cell is shown as "-", so that every line has the same
// number of columns.
func (t *table) row(cells ...string) {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		shown[i] = printable(cell)
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(shown[i]))
	}
	// A bytes.Buffer takes everything.
	_, _ = fmt.Fprintln(t.columns, strings.Join(shown, "\t"))
}

// continued is a table of further rows, with columns as wide as those of t, and no header.
func (t *table) continued() *table {
	var ruler []string
	for _, width := range t.widths {
		ruler = append(ruler, strings.Repeat("-", width))
	}
	more := newTable(ruler...)
	more.ruled = true
	return more
}

// printable keeps what others have written from steering the terminal or the table.
func printable(cell string) string {
	if cell == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, cell)
}

// print writes tables to standard output, a blank line between them.
func (p *program) print(tables ...*table) error {
	var all bytes.Buffer
	for i, t := range tables {
		if err := t.columns.Flush(); err != nil {
			return fmt.Errorf("lay out a table: %w", err)
		}
		if i > 0 {
			all.WriteByte('\n')
		}
		header, rows, _ := strings.Cut(t.text.String(), "\n")
		if !t.ruled {
			all.WriteString(p.heading(header) + "\n")
		}
		all.WriteString(rows)
	}
	return written(all.WriteTo(p.stdout))
}

// heading makes a header line stand out where that can be seen.
func (p *program) heading(line string) string {
	if !p.colour(p.stdout) {
		return line
	}
	return "\x1b[1m" + line + "\x1b[0m"
}

// colour says whether a file is a terminal whose user has not asked for none.
func (p *program) colour(file *os.File) bool {
	if p.variable("NO_COLOR") != "" || p.variable("TERM") == "dumb" {
		return false
	}
	return supervise.IsTerminal(file)
}

// printJSON writes a document as one line.
func printJSON(to io.Writer, document any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return written(0, encoder.Encode(document))
}

// printLines writes documents as one line each.
func printLines[T any](p *program, documents []T) error {
	out := bufio.NewWriter(p.stdout)
	for _, document := range documents {
		if err := printJSON(out, document); err != nil {
			return err
		}
	}
	return written(0, out.Flush())
}

// written is the error of a write to standard output.
func written[N int | int64](_ N, err error) error {
	if err != nil {
		return &exitError{exitInternal, fmt.Errorf("write to standard output: %w", err)}
	}
	return nil
}

// shownName makes one word of a name: one with a space in it, or that looks like a
// quoted one, is quoted as in JSON.
func shownName(name string) string {
	if !strings.ContainsFunc(name, unicode.IsSpace) && !strings.HasPrefix(name, `"`) {
		return name
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(name); err != nil {
		return strconv.Quote(name) // cannot be: it is a string
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// shownTime is a time as a cell, in the reader's zone: the time alone if it is today.
func shownTime(t wire.Time) string {
	if t.IsZero() {
		return ""
	}
	local := t.Local()
	if local.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return local.Format(time.TimeOnly)
	}
	return local.Format(time.DateTime)
}

// shownMode is a mode as a cell: with slots, how many of how many.
func shownMode(mode holdfast.Mode, units, capacity int) string {
	if mode != holdfast.ModeSlots {
		return mode.String()
	}
	return fmt.Sprintf("%v %d/%d", mode, units, capacity)
}

// shownToken is a token as a cell.
func shownToken(token holdfast.Token) string {
	if token == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(token), 10)
}
