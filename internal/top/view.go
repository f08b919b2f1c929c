package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-locks/holdfast/internal/printable"
)

// View implements tea.Model.
func (m Model) View() tea.View {
	view := tea.NewView(m.frame())
	view.AltScreen = true
	return view
}

// frame returns the screen: as many lines as the terminal has.
func (m Model) frame() string {
	lines := m.head()
	body := m.bodyHeight()
	var text []string
	switch {
	case m.help || m.lock != lockKey{}:
		text = strings.Split(m.page.View(), "\n")
	default:
		text = m.tableLines(body)
	}
	for i := range body {
		line := ""
		if i < len(text) {
			line = text[i]
		}
		lines = append(lines, line)
	}
	lines = append(lines, m.notes()...)
	lines = append(lines, m.footer())
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, m.width, "…")
	}
	return strings.Join(lines[:min(len(lines), m.height)], "\n")
}

// bodyHeight is the number of lines for the table or the page.
func (m Model) bodyHeight() int { return max(1, m.height-len(m.head())-len(m.notes())-1) }

// head is the summary, the trouble if there is any, and the panes.
func (m Model) head() []string {
	lines := []string{m.title(), m.summary()}
	if trouble := m.trouble(); trouble != "" {
		lines = append(lines, red.Render(ansi.Truncate(printable.Text(trouble), m.width, "…")))
	}
	return append(lines, m.tabs())
}

func (m Model) title() string {
	now := m.now.Format(time.TimeOnly)
	parts := []string{bold.Render("holdfast top")}
	if m.status != nil {
		parts = append(parts, "cluster "+printable.Text(m.status.Cluster), fmt.Sprintf("view %d", m.status.View.Number))
		if coordinator := m.status.View.Coordinator; coordinator != "" {
			parts = append(parts, "coordinator "+printable.Text(coordinator))
		}
		parts = append(parts, "through "+printable.Text(m.status.Member.Name), printable.Text(m.status.Version))
	}
	return m.spread(fitting(parts, m.width-gap-len(now)), now)
}

// spread puts a text to each end of a line.
func (m Model) spread(left, right string) string {
	space := m.width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if space < 2 {
		return left
	}
	return left + strings.Repeat(" ", space) + right
}

// summary has the numbers of the whole cluster.
func (m Model) summary() string {
	if m.status == nil {
		if m.err != nil {
			return ""
		}
		return "asking " + printable.Text(m.config.Server) + " …"
	}
	present, locks, waiters, sessions, rate := len(m.status.View.Members), 0, 0, 0, 0.0
	for _, member := range m.status.View.Members {
		for _, missing := range m.status.Missing {
			if missing.Name == member.Name {
				present--
			}
		}
	}
	for _, space := range m.status.Spaces {
		locks, waiters, sessions = locks+int(space.Locks), waiters+int(space.Waiters), sessions+int(space.Sessions)
		rate += m.rates.spaces[space.Name]
	}
	members := fmt.Sprintf("members %d", present)
	if gone := len(m.status.Missing); gone > 0 {
		members += red.Render(fmt.Sprintf(" (%d missing)", gone))
	}
	parts := []string{members, fmt.Sprintf("spaces %d", len(m.status.Spaces)), fmt.Sprintf("locks %d", locks), fmt.Sprintf("waiters %d", waiters)}
	if longest := m.longestWait(); longest > 0 {
		parts = append(parts, "longest wait "+m.config.Age(longest))
	}
	if m.rates.known {
		parts = append(parts, "grants/s "+m.rate(rate))
	}
	return fitting(append(parts, fmt.Sprintf("sessions %d", sessions)), m.width)
}

// fitting joins the parts that fit a width.
func fitting(parts []string, width int) string {
	text := parts[0]
	for _, part := range parts[1:] {
		if longer := text + "  " + part; ansi.StringWidth(longer) <= width {
			text = longer
		}
	}
	return text
}

// trouble is what is wrong, in one line.
func (m Model) trouble() string {
	switch {
	case m.err != nil:
		return fmt.Sprintf("no answer since %s (%s): %s", m.lost.Format(time.TimeOnly), m.config.Age(m.now.Sub(m.lost)), m.config.Explain(m.err))
	case m.asking && m.now.Sub(m.began) >= slow:
		return fmt.Sprintf("no answer since %s (%s)", m.began.Format(time.TimeOnly), m.config.Age(m.now.Sub(m.began)))
	case m.status == nil:
		return ""
	case m.status.View.Why != "":
		return m.status.View.Why
	case m.status.Unwritten != nil:
		return "the state is not written: " + m.status.Unwritten.Why
	}
	for _, space := range m.status.Spaces {
		if space.State != "ready" && (m.space == "" || m.space == space.Name) {
			if space.Why == "" || strings.HasPrefix(space.Why, space.State) {
				return fmt.Sprintf("space %s is %s", space.Name, cmp.Or(space.Why, space.State))
			}
			return fmt.Sprintf("space %s is %s: %s", space.Name, space.State, space.Why)
		}
	}
	return ""
}

// slow is how long a refresh lasts before the view says so.
const slow = 2 * time.Second

// tabs are the panes, and how the present one is ordered and restricted.
func (m Model) tabs() string {
	var tabs []string
	for i, pane := range panes {
		text := fmt.Sprintf(" %d %s ", i+1, pane.title)
		if paneID(i) == m.pane {
			text = selected.Render(text)
		}
		tabs = append(tabs, text)
	}
	var right []string
	if m.paused {
		right = append(right, bold.Render("PAUSED"))
	}
	if m.space != "" {
		right = append(right, "space "+printable.Text(m.space))
	}
	if filter := m.filter; m.typing || filter != "" {
		text := "/" + printable.Text(filter)
		if m.typing {
			text += selected.Render(" ")
		}
		right = append(right, text)
	}
	v := m.views[m.pane]
	order := "by " + panes[m.pane].orders[v.order]
	if v.reversed {
		order += ", reversed"
	}
	return m.spread(strings.Join(tabs, ""), strings.Join(append(right, order), "  "))
}

// tableLines is the table of the pane.
func (m Model) tableLines(height int) []string {
	rows := m.rows()
	if len(rows) == 0 {
		return []string{"", faint.Render("  " + m.empty())}
	}
	v := m.views[m.pane]
	visible := rows[min(v.top, len(rows)):min(v.top+height-1, len(rows))]
	g := layout(m.columns(), rows, m.width)
	lines := []string{bold.Render(g.heading())}
	for i, row := range visible {
		line := g.line(row.cells)
		switch {
		case v.top+i == v.at:
			style := selected
			if row.bad {
				style = style.Inherit(red)
			}
			line = style.Render(line + strings.Repeat(" ", max(0, m.width-ansi.StringWidth(line))))
		case row.bad:
			line = red.Render(line)
		case row.quiet || m.err != nil:
			line = faint.Render(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// columns are those of the pane; that of the space only if there are several.
func (m Model) columns() []column {
	columns := append([]column(nil), panes[m.pane].columns...)
	if m.pane == paneNames || m.pane == paneWaits {
		if len(m.status.Spaces) == 1 || m.space != "" {
			columns[1].rank = hidden
		}
	}
	return columns
}

// empty says why a table has no rows.
func (m Model) empty() string {
	filter := ""
	if m.filter != "" {
		filter = fmt.Sprintf(" that begins with %q", m.filter)
	}
	switch {
	case m.status == nil:
		return ""
	case m.pane == paneNames:
		return "no name" + filter + " is held or waited for"
	case m.pane == paneWaits:
		return "no request waits" + strings.Replace(filter, "that", "for a name that", 1)
	}
	return "none"
}

// notes say what the view leaves out.
func (m Model) notes() []string {
	if m.help || m.lock != (lockKey{}) || m.pane != paneNames && m.pane != paneWaits {
		return nil
	}
	var notes []string
	if len(m.cut) > 0 {
		notes = append(notes, faint.Render(fmt.Sprintf("the first %s names are shown; there are more in %s: / shows those with a prefix",
			thousands(nameBound), printable.Text(strings.Join(m.cut, ", ")))))
	}
	if !m.rates.at.IsZero() {
		notes = append(notes, faint.Render("grants/s are of "+m.rates.at.Format(time.TimeOnly)+": there are too many events to follow them all the time"))
	}
	return notes
}

// thousands formats a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// footer has the most used keys. On a narrow terminal those that the help has are left out first, from the end on.
func (m Model) footer() string {
	hints := [][2]string{{"tab", "pane"}, {"↑↓", "select"}, {"enter", "show"}, {"s", "sort"}, {"/", "filter"}, {"space", "pause"}, {"?", "help"}, {"q", "quit"}}
	switch {
	case m.typing:
		hints = [][2]string{{"enter", "keep the filter"}, {"esc", "remove it"}}
	case m.help, m.lock != lockKey{}:
		hints = [][2]string{{"esc", "back"}, {"↑↓", "scroll"}, {"space", "pause"}, {"?", "help"}, {"q", "quit"}}
	}
	for {
		var parts []string
		for _, hint := range hints {
			parts = append(parts, bold.Render(hint[0])+" "+hint[1])
		}
		text := strings.Join(parts, "  ")
		if ansi.StringWidth(text) <= m.width || len(hints) <= lastHints {
			return text
		}
		hints = slices.Delete(slices.Clone(hints), len(hints)-lastHints-1, len(hints)-lastHints)
	}
}

// lastHints is how many keys at the end of the footer stay on any terminal: help and quit.
const lastHints = 2
