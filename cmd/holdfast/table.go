package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// table is a table for people: a header line, and columns two spaces apart.
type table struct {
	header []string // none if it continues the rows of another one
	cells  []string // row by row
	widths []int    // of the columns, in characters
}

func newTable(header ...string) *table {
	t := &table{widths: make([]int, len(header))}
	t.header = t.appendCells(nil, header)
	return t
}

// row adds a line, with as many cells as the header. An empty cell is shown as "-".
func (t *table) row(cells ...string) { t.cells = t.appendCells(t.cells, cells) }

// appendCells appends cells as printed, and widens their columns.
func (t *table) appendCells(to, cells []string) []string {
	for i, cell := range cells {
		cell = printable(cell)
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		to = append(to, cell)
	}
	return to
}

// continued returns a table for further rows, with the column widths of t, and no header.
func (t *table) continued() *table { return &table{widths: t.widths, cells: t.cells[:0]} }

// appendRow appends a line.
func (t *table) appendRow(text []byte, cells []string) []byte {
	for i, cell := range cells {
		if text = append(text, cell...); i == len(cells)-1 {
			break
		}
		for range t.widths[i] + 2 - utf8.RuneCountInString(cell) {
			text = append(text, ' ')
		}
	}
	return append(text, '\n')
}

// printable keeps foreign text from controlling the terminal or the table.
func printable(cell string) string {
	switch {
	case cell == "":
		return "-"
	case isPlain(cell):
		return cell
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, cell)
}

// isPlain reports whether a text has only printable ASCII characters, as nearly all have.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// print writes tables to standard output, separated by blank lines.
func (p *program) print(tables ...*table) error {
	var text []byte
	for i, t := range tables {
		if i > 0 {
			text = append(text, '\n')
		}
		if len(t.header) > 0 {
			line := t.appendRow(nil, t.header)
			text = append(append(text, p.heading(string(line[:len(line)-1]))...), '\n')
		}
		for row := range slices.Chunk(t.cells, len(t.widths)) {
			text = t.appendRow(text, row)
		}
	}
	return written(p.stdout.Write(text))
}

// answer writes a member's answer: with --json unchanged, and otherwise as tables, if it has any.
func (p *program) answer(c *cli.Command, document any, tables ...*table) error {
	switch {
	case c.Bool("json"):
		return printJSON(p.stdout, document)
	case len(tables) == 0:
		return nil
	}
	return p.print(tables...)
}

// heading highlights a header line on a terminal.
func (p *program) heading(line string) string {
	if !p.colour(p.stdout) {
		return line
	}
	return "\x1b[1m" + line + "\x1b[0m"
}

// colour reports whether a file is a terminal with colours enabled.
func (p *program) colour(file *os.File) bool {
	if p.variable("NO_COLOR") != "" || p.variable("TERM") == "dumb" {
		return false
	}
	return supervise.IsTerminal(file)
}

// variable returns an environment variable; "" if it is not set. Of a repeated one the last counts.
func (p *program) variable(name string) string {
	value := ""
	for _, entry := range p.environ {
		if found, ok := strings.CutPrefix(entry, name+"="); ok {
			value = found
		}
	}
	return value
}

// printJSON writes a document as one line.
func printJSON(to io.Writer, document any) error {
	if message, is := document.(proto.Message); is {
		return printMessage(to, api.NewJSON(), message)
	}
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return written(0, encoder.Encode(document))
}

// printMessage writes a message of the network API as one line.
func printMessage(to io.Writer, json *api.JSON, message proto.Message) error {
	return written(to.Write(append(json.Append(nil, message), '\n')))
}

// printLines writes messages as one line each.
func printLines[M proto.Message](p *program, messages []M) error {
	out, json := bufio.NewWriter(p.stdout), api.NewJSON()
	for _, message := range messages {
		if err := printMessage(out, json, message); err != nil {
			return err
		}
	}
	return written(0, out.Flush())
}

// written returns the error of a write to standard output.
func written[N int | int64](_ N, err error) error {
	if err != nil {
		return &exitError{exitInternal, fmt.Errorf("write to standard output: %w", err)}
	}
	return nil
}

// formatName makes one word of a name: one that contains a space, or looks like a quoted one, is quoted as in JSON.
func formatName(name string) string {
	if !strings.ContainsFunc(name, unicode.IsSpace) && !strings.HasPrefix(name, `"`) {
		return name
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(name); err != nil {
		return strconv.Quote(name) // cannot happen: it is a string
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// formatTime formats a time as a cell, in the local zone: the time alone if it is today.
func formatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	local, now := t.AsTime().Local(), time.Now()
	if local.YearDay() == now.YearDay() && local.Year() == now.Year() {
		return local.Format(time.TimeOnly)
	}
	return local.Format(time.DateTime)
}

// formatMode formats a mode as a cell: with slots, the units and the capacity.
func formatMode(mode schema.Mode, units, capacity int32) string {
	if mode != schema.Mode_MODE_SLOTS {
		return holdfast.Mode(mode).String()
	}
	return fmt.Sprintf("%v %d/%d", holdfast.Mode(mode), units, capacity)
}

// formatToken formats a token as a cell.
func formatToken[T ~uint64](token T) string {
	if token == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(token), 10)
}
