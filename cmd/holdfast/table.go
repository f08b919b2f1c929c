package main

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-locks/holdfast/internal/printable"
)

// table is a table for people: a header line, and columns two spaces apart. Without --wide it has fewer columns. On a
// terminal that is too narrow the long columns are cut, and end with "…"; elsewhere no cell is ever cut.
type table struct {
	columns []column
	cells   []string // row by row
	begun   bool     // the header was printed
}

// column is a column of a table.
type column struct {
	title string
	width int  // on a terminal, of its widest cell
	shown int  // as printed: width, or less
	wide  bool // only with --wide
	long  bool // may be cut on a terminal
	fold  bool // has sentences, which go on below on a terminal
	rare  bool // only with --wide, or if a row has a value
	state bool // coloured by its words
	used  bool // a row has a value
}

func newTable(header ...string) *table {
	t := &table{}
	for _, title := range header {
		t.columns = append(t.columns, column{title: title, width: textWidth(title)})
	}
	return t
}

// wide marks columns that are printed with --wide only.
func (t *table) wide(titles ...string) *table {
	return t.mark(func(c *column) { c.wide = true }, titles)
}

// long marks columns that may be cut on a terminal that is too narrow.
func (t *table) long(titles ...string) *table {
	return t.mark(func(c *column) { c.long = true }, titles)
}

// folded marks the last column: on a terminal that is too narrow its sentences go on in further lines.
func (t *table) folded(titles ...string) *table {
	return t.mark(func(c *column) { c.fold = true }, titles)
}

// rare marks columns that are left out without --wide if no row has a value.
func (t *table) rare(titles ...string) *table {
	return t.mark(func(c *column) { c.rare = true }, titles)
}

// states marks columns whose words have colours.
func (t *table) states(titles ...string) *table {
	return t.mark(func(c *column) { c.state = true }, titles)
}

func (t *table) mark(as func(*column), titles []string) *table {
	for i := range t.columns {
		if slices.Contains(titles, t.columns[i].title) {
			as(&t.columns[i])
		}
	}
	return t
}

// row adds a line, with as many cells as the header. An empty cell is shown as "-".
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		c := &t.columns[i]
		c.used = c.used || cell != ""
		cell = visible(cell)
		c.width = max(c.width, textWidth(cell))
		t.cells = append(t.cells, cell)
	}
}

// shed leaves out columns, in an order, until the table fits the terminal of an output. It reports whether it had to.
func (t *table) shed(o *output, titles []string) (shed bool) {
	width := func() int {
		total := -len(gap)
		for _, i := range t.chosen(o) {
			total += len(gap) + t.columns[i].width
		}
		return total
	}
	for _, title := range titles {
		if o.columns == 0 || width() <= o.columns {
			break
		}
		if i := slices.IndexFunc(t.columns, func(c column) bool { return c.title == title }); i >= 0 {
			t.columns[i].wide, shed = true, true
		}
	}
	return shed
}

// continued empties a printed table for further rows, which are printed below the others without a header. A cell that
// is wider than all before it moves what follows it.
func (t *table) continued() *table {
	t.cells = t.cells[:0]
	return t
}

// gap is the space between two columns.
const gap = "  "

// append appends the table as an output shows it: the header first, unless it was printed already.
func (t *table) append(text []byte, o *output) []byte {
	columns := t.chosen(o)
	t.fit(columns, o.columns)
	if !t.begun {
		titles := make([]string, len(t.columns))
		for i := range t.columns {
			titles[i] = t.columns[i].title
		}
		line := t.line(nil, columns, titles, nil)
		text = append(append(text, o.bold(string(line))...), '\n')
		t.begun = true
	}
	for row := range slices.Chunk(t.cells, len(t.columns)) {
		text = append(t.line(text, columns, row, o), '\n')
	}
	return text
}

// chosen returns the indices of the columns that an output shows.
func (t *table) chosen(o *output) (indices []int) {
	for i := range t.columns {
		c := &t.columns[i]
		if o.wide || !c.wide && (!c.rare || c.used) {
			indices = append(indices, i)
		}
	}
	return indices
}

// shortest is the least width to which a column is cut.
const shortest = 8

// fit decides how wide the columns are printed: the widest of the long ones are cut until the line fits, if there is a
// limit and it can be kept.
func (t *table) fit(columns []int, limit int) {
	total := len(gap) * (len(columns) - 1)
	var long []*column
	for _, i := range columns {
		c := &t.columns[i]
		c.shown = c.width
		if c.fold {
			total += min(c.shown, leastFold)
		} else {
			total += c.shown
		}
		if c.long {
			long = append(long, c)
		}
	}
	for ; limit > 0 && total > limit; total-- {
		var widest *column
		for _, c := range long {
			if c.shown > max(shortest, textWidth(c.title)) && (widest == nil || c.shown >= widest.shown) {
				widest = c
			}
		}
		if widest == nil {
			return
		}
		widest.shown--
	}
}

// line appends a line of chosen columns. An output colours the states; the header has none.
func (t *table) line(text []byte, columns []int, cells []string, o *output) []byte {
	at := 0
	for nth, i := range columns {
		c, cell := &t.columns[i], cells[i]
		if c.long && c.shown < c.width {
			cell = cut(cell, c.shown)
		}
		width := textWidth(cell)
		switch {
		case c.state && o != nil:
			cell = o.state(cell)
		case c.fold && o != nil && o.columns > 0 && at+width > o.columns:
			if o.columns-at < leastFold {
				text, at = append(text, '\n'), foldBelow
				text = append(text, strings.Repeat(" ", at)...)
			}
			cell = fold(cell, at, o.columns-at)
		}
		at += c.shown + len(gap)
		text = append(text, cell...)
		if nth < len(columns)-1 {
			for range max(0, c.shown-width) + len(gap) {
				text = append(text, ' ')
			}
		}
	}
	return text
}

// leastFold is the least width to which sentences are folded. With less room they begin on the next line, at foldBelow.
const (
	leastFold = 30
	foldBelow = 4
)

// fold breaks a text that begins in a column of the terminal into lines of a width.
func fold(text string, column, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case used+1+textWidth(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += textWidth(word)
	}
	return b.String()
}

// textWidth returns how many columns of a terminal a text takes: a wide character takes two, a combining mark none.
func textWidth(text string) int {
	if isPlain(text) {
		return len(text)
	}
	return ansi.StringWidth(text)
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

// cut returns a text of at most width columns of a terminal: a longer one ends with "…".
func cut(text string, width int) string {
	if textWidth(text) <= width {
		return text
	}
	return ansi.Truncate(text, max(1, width), "…")
}

// visible keeps foreign text from controlling the terminal or the table.
func visible(cell string) string {
	if cell == "" {
		return "-"
	}
	return printable.Text(cell)
}
