package top

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-locks/holdfast/internal/printable"
)

// column is a column of a table.
type column struct {
	title string
	rank  int  // the highest is omitted first on a narrow terminal; 0 never
	right bool // aligned to the right
	whole bool // a part of its cells is of no use
	least int  // its width changes less often if it is at least this wide
	want  int  // other columns are omitted before it is made narrower than this
}

const (
	gap    = 2  // between two columns
	narrow = 10 // a column is not made narrower than this to keep another one
)

// grid is a table laid out for a width.
type grid struct {
	columns []int // indexes of the shown columns
	widths  []int // their widths
	source  []column
}

// layout chooses the columns and their widths. A column in which all cells are empty is omitted.
func layout(columns []column, rows []row, width int) grid {
	natural := make([]int, len(columns))
	for i := range columns {
		for _, row := range rows {
			natural[i] = max(natural[i], ansi.StringWidth(row.cells[i]))
		}
		if natural[i] > 0 || columns[i].rank == 0 {
			natural[i] = max(natural[i], ansi.StringWidth(columns[i].title), columns[i].least)
		}
	}
	for rank := highest(columns); ; rank-- {
		g, least := grid{source: columns}, -gap
		for i, c := range columns {
			if c.rank <= rank && c.rank < hidden && natural[i] > 0 {
				g.columns = append(g.columns, i)
				g.widths = append(g.widths, natural[i])
				least += gap + c.needed(natural[i])
			}
		}
		if least <= width || rank == 0 {
			g.shrink(width)
			return g
		}
	}
}

// needed returns the least width that is worth to show, of the natural one.
func (c column) needed(natural int) int {
	if c.whole {
		return natural
	}
	return min(natural, max(narrow, ansi.StringWidth(c.title), c.want))
}

// hidden is the rank of a column that is never shown.
const hidden = 1 << 10

// highest returns the highest rank of the others.
func highest(columns []column) (rank int) {
	for _, c := range columns {
		if c.rank < hidden {
			rank = max(rank, c.rank)
		}
	}
	return rank
}

// shrink takes the missing room from the widest columns, from those that are of use only as a whole last.
func (g *grid) shrink(width int) {
	total := -gap
	for _, w := range g.widths {
		total += gap + w
	}
	for ; total > width; total-- {
		widest := 0
		for i := range g.widths {
			if g.room(i) > g.room(widest) {
				widest = i
			}
		}
		if g.widths[widest] == 1 {
			return
		}
		g.widths[widest]--
	}
}

// room orders columns by how much can be taken from them.
func (g *grid) room(at int) int {
	c := g.source[g.columns[at]]
	if c.whole {
		return g.widths[at] - 1<<10
	}
	return g.widths[at] - c.want/2
}

// heading returns the heading.
func (g grid) heading() string {
	titles := make([]string, len(g.source))
	for i, c := range g.source {
		titles[i] = c.title
	}
	return g.line(titles)
}

// line returns one line.
func (g grid) line(cells []string) string {
	var b strings.Builder
	for at, i := range g.columns {
		if at > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		cell := ansi.Truncate(printable.Text(cells[i]), g.widths[at], "…")
		pad := strings.Repeat(" ", max(0, g.widths[at]-ansi.StringWidth(cell)))
		if g.source[i].right {
			cell = pad + cell
		} else {
			cell += pad
		}
		b.WriteString(cell)
	}
	return b.String()
}

// Styles. Where colours are turned off, the terminal library leaves them out.
var (
	bold     = lipgloss.NewStyle().Bold(true)
	faint    = lipgloss.NewStyle().Faint(true)
	red      = lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true)
	green    = lipgloss.NewStyle().Foreground(lipgloss.Green)
	selected = lipgloss.NewStyle().Reverse(true)
)
