package top

import (
	"strings"
	"unicode"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// The keys.
var keys = struct {
	quit, next, previous, members, spaces, names, waits       key.Binding
	up, down, pageUp, pageDown, first, last                   key.Binding
	enter, back, order, reverse, filter, pause, help, suspend key.Binding
}{
	quit:     bind("q", "quit", "q", "ctrl+c"),
	next:     bind("tab", "next pane", "tab", "right", "l"),
	previous: bind("shift+tab", "previous pane", "shift+tab", "left", "h"),
	members:  bind("1", "members", "1"),
	spaces:   bind("2", "spaces", "2"),
	names:    bind("3", "names", "3"),
	waits:    bind("4", "waits", "4"),
	up:       bind("↑ k", "row above", "up", "k"),
	down:     bind("↓ j", "row below", "down", "j"),
	pageUp:   bind("pgup", "page above", "pgup", "ctrl+b"),
	pageDown: bind("pgdn", "page below", "pgdown", "ctrl+f"),
	first:    bind("home g", "first row", "home", "g"),
	last:     bind("end G", "last row", "end", "G"),
	enter:    bind("enter", "show the lock in full; of a space, its names", "enter"),
	back:     bind("esc", "go back; remove the filter, then the space", "esc"),
	order:    bind("s", "sort by the next column", "s"),
	reverse:  bind("r", "reverse the order", "r"),
	filter:   bind("/", "show only names with a prefix; enter keeps it", "/"),
	pause:    bind("space", "pause, and go on", "space"),
	help:     bind("?", "this page", "?"),
	suspend:  bind("ctrl+z", "suspend the program", "ctrl+z"),
}

// bind returns a binding with its help.
func bind(shown, help string, names ...string) key.Binding {
	return key.NewBinding(key.WithKeys(names...), key.WithHelp(shown, help))
}

// helpKeys are the keys in the order of the help.
func helpKeys() []key.Binding {
	return []key.Binding{
		keys.members, keys.spaces, keys.names, keys.waits, keys.next, keys.previous, keys.up, keys.down, keys.pageUp, keys.pageDown,
		keys.first, keys.last, keys.enter, keys.back, keys.order, keys.reverse, keys.filter, keys.pause, keys.help, keys.suspend, keys.quit,
	}
}

// key handles a key.
func (m *Model) key(pressed tea.KeyPressMsg) tea.Cmd {
	if m.typing {
		return m.typed(pressed)
	}
	switch {
	case key.Matches(pressed, keys.quit):
		return tea.Quit
	case key.Matches(pressed, keys.suspend):
		return tea.Suspend
	case key.Matches(pressed, keys.back):
		return m.goBack()
	case key.Matches(pressed, keys.pause):
		m.paused = !m.paused
		return nil
	case key.Matches(pressed, keys.help):
		m.help = !m.help
		m.page.GotoTop()
		return nil
	case m.switchPane(pressed):
		m.help, m.lock, m.detail = false, lockKey{}, nil
		return nil
	case m.help || m.lock != lockKey{}:
		m.scroll(pressed)
		return nil
	}
	return m.tableKey(pressed)
}

// tableKey handles a key that acts on a table.
func (m *Model) tableKey(pressed tea.KeyPressMsg) tea.Cmd {
	v := &m.views[m.pane]
	switch {
	case key.Matches(pressed, keys.order):
		v.order, v.reversed, v.moved = (v.order+1)%len(panes[m.pane].orders), false, false
	case key.Matches(pressed, keys.reverse):
		v.reversed, v.moved = !v.reversed, false
	case key.Matches(pressed, keys.filter):
		m.typing = true
	case key.Matches(pressed, keys.enter):
		return m.open()
	default:
		m.move(pressed)
	}
	return nil
}

// typed handles a key while the filter is typed.
func (m *Model) typed(pressed tea.KeyPressMsg) tea.Cmd {
	before := m.filter
	switch pressed.String() {
	case "ctrl+c":
		return tea.Quit
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter = string(runes[:len(runes)-1])
		}
	case "ctrl+u":
		m.filter = ""
	default:
		m.filter += oneLine(pressed.Text)
	}
	if m.filter == before {
		return nil
	}
	return m.ask()
}

// oneLine removes control characters from a text, which no name has.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// switchPane reports whether a key chooses a pane.
func (m *Model) switchPane(pressed tea.KeyPressMsg) bool {
	for pane, binding := range []key.Binding{keys.members, keys.spaces, keys.names, keys.waits} {
		if key.Matches(pressed, binding) {
			m.pane = paneID(pane)
			return true
		}
	}
	switch {
	case key.Matches(pressed, keys.next):
		m.pane = (m.pane + 1) % paneCount
	case key.Matches(pressed, keys.previous):
		m.pane = (m.pane + paneCount - 1) % paneCount
	default:
		return false
	}
	return true
}

// move moves the selection.
func (m *Model) move(pressed tea.KeyPressMsg) {
	v, rows := &m.views[m.pane], m.rows()
	page := max(1, m.bodyHeight()-1)
	switch {
	case key.Matches(pressed, keys.up):
		v.at--
	case key.Matches(pressed, keys.down):
		v.at++
	case key.Matches(pressed, keys.pageUp):
		v.at -= page
	case key.Matches(pressed, keys.pageDown):
		v.at += page
	case key.Matches(pressed, keys.first):
		v.at = 0
	case key.Matches(pressed, keys.last):
		v.at = len(rows) - 1
	default:
		return
	}
	v.moved = true
	if v.at = max(0, min(v.at, len(rows)-1)); len(rows) > 0 {
		v.selected = rows[v.at].key
	}
}

// scroll moves a page of text.
func (m *Model) scroll(pressed tea.KeyPressMsg) {
	switch {
	case key.Matches(pressed, keys.up):
		m.page.ScrollUp(1)
	case key.Matches(pressed, keys.down):
		m.page.ScrollDown(1)
	case key.Matches(pressed, keys.pageUp):
		m.page.PageUp()
	case key.Matches(pressed, keys.pageDown):
		m.page.PageDown()
	case key.Matches(pressed, keys.first):
		m.page.GotoTop()
	case key.Matches(pressed, keys.last):
		m.page.GotoBottom()
	}
}

// open shows the selected lock in full, or the names of the selected space.
func (m *Model) open() tea.Cmd {
	rows := m.rows()
	if len(rows) == 0 {
		return nil
	}
	row := rows[min(m.views[m.pane].at, len(rows)-1)]
	switch {
	case m.pane == paneSpaces:
		m.space, m.pane = row.lock.space, paneNames
	case row.lock != lockKey{}:
		m.lock, m.detail = row.lock, nil
		m.page.GotoTop()
	default:
		return nil
	}
	return m.ask()
}

// goBack closes the help, else the lock, else removes the filter, else the restriction to a space.
func (m *Model) goBack() tea.Cmd {
	switch {
	case m.help:
		m.help = false
		return nil
	case m.lock != lockKey{}:
		m.lock, m.detail = lockKey{}, nil
	case m.filter != "":
		m.filter = ""
	case m.space != m.config.Space:
		m.space = m.config.Space
	default:
		return nil
	}
	return m.ask()
}
