package top

import (
	"context"
	"io"
	"slices"
	"time"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Config is the configuration of a view.
type Config struct {
	Source   Source
	Server   string                     // the addresses that Source asks, for people
	Space    string                     // show only this lockspace; "" shows all
	Interval time.Duration              // between two refreshes
	Timeout  time.Duration              // of one request
	Rates    bool                       // follow the events, which give grants per second
	Age      func(time.Duration) string // formats a span of time
	Explain  func(error) string         // formats an error
}

// Run shows the view on a terminal until a user quits it or ctx ends. Its error is nil in the first case.
func Run(ctx context.Context, config Config, in io.Reader, out io.Writer, environ []string) error {
	collector := newCollector(ctx, config)
	defer collector.close()
	program := tea.NewProgram(newModel(config, collector.collect, time.Now()), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithEnvironment(environ), tea.WithoutSignalHandler())
	_, err := program.Run()
	return err
}

// Model is the state of the view. It implements tea.Model.
type Model struct {
	config  Config
	collect func(question) sample

	width, height int
	now           time.Time
	pane          paneID
	views         [paneCount]paneView
	space         string // only this space; "" all
	filter        string // only names that begin with it
	typing        bool   // the filter is being typed
	paused        bool
	help          bool
	lock          lockKey        // shown in full; zero for none
	page          viewport.Model // of the lock, or the help

	asking bool
	began  time.Time     // when the latest refresh began
	asked  time.Time     // when it ended
	took   time.Duration // how long it took
	stale  bool          // the question has changed since the latest refresh began

	status *schema.Status // nil before the first answer
	before *schema.Status // the one before, and how much older it is
	age    time.Duration
	since  time.Time // when status came
	locks  []*schema.Lock
	cut    []string
	detail *schema.Lock
	rates  rates
	err    error     // of the latest refresh
	lost   time.Time // since when refreshes have failed
}

// paneView is the state of a pane.
type paneView struct {
	order    int // index in the pane's orders
	reversed bool
	moved    bool   // a user has chosen the row: it stays selected when it moves
	selected string // key of the row
	at       int    // its index
	top      int    // first visible row
}

// Messages of the view itself.
type (
	tickMsg   time.Time
	sampleMsg struct {
		sample
		at time.Time
	}
)

// tick is how often ages are redrawn.
const tick = time.Second

func newModel(config Config, collect func(question) sample, now time.Time) Model {
	return Model{
		config: config, collect: collect, now: now, space: config.Space, pane: paneNames,
		page: viewport.New(), width: 80, height: 24,
	}
}

// Init implements tea.Model.
func (m Model) Init() tea.Cmd { return func() tea.Msg { return tickMsg(time.Now()) } }

// Update implements tea.Model.
func (m Model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case tickMsg:
		m.now = time.Time(message)
		next := tea.Tick(min(tick, m.config.Interval), func(at time.Time) tea.Msg { return tickMsg(at) })
		ask := m.refresh()
		return m.settled(), tea.Batch(next, ask)
	case sampleMsg:
		m.take(message)
		var ask tea.Cmd
		if m.stale {
			ask = m.ask()
		}
		return m.settled(), ask
	case tea.KeyPressMsg:
		command := m.key(message)
		return m.settled(), command
	case tea.PasteMsg:
		if m.typing {
			m.filter += oneLine(message.Content)
			return m.settled(), m.ask()
		}
	}
	return m.settled(), nil
}

// refresh asks if it is time. A refresh that took long is followed by a longer pause.
func (m *Model) refresh() tea.Cmd {
	if m.paused || m.now.Sub(m.asked) < max(m.config.Interval, restShare*m.took) {
		return nil
	}
	return m.ask()
}

// restShare is how many times as long as a refresh the pause after it lasts at least.
const restShare = 4

// ask begins a refresh; if one is under way, another follows it.
func (m *Model) ask() tea.Cmd {
	if m.asking {
		m.stale = true
		return nil
	}
	m.asking, m.stale, m.began = true, false, m.now
	q, collect := question{space: m.space, prefix: m.filter, lock: m.lock}, m.collect
	return func() tea.Msg { return sampleMsg{collect(q), time.Now()} }
}

// take keeps the answer of a refresh. What a member does not answer leaves the last answer on the screen.
func (m *Model) take(s sampleMsg) {
	m.asking, m.asked, m.took, m.now = false, s.at, s.took, s.at
	if m.err = s.err; m.err == nil {
		m.lost = time.Time{}
	} else if m.lost.IsZero() {
		m.lost = s.at.Add(-s.took)
	}
	if s.status == nil {
		return
	}
	if m.status != nil {
		m.before, m.age = m.status, s.at.Sub(m.since)
	}
	m.status, m.since, m.rates = s.status, s.at, s.rates
	switch q := s.question; {
	case m.err != nil:
	case q.lock != lockKey{}:
		if q.lock == m.lock {
			m.detail = s.detail
		}
	case q.space == m.space && q.prefix == m.filter:
		m.locks, m.cut = s.locks, s.cut
	}
}

// settled returns the model with its selections and scrolling within bounds.
func (m Model) settled() Model {
	v := &m.views[m.pane]
	rows := m.rows()
	at := 0
	if v.moved {
		at = min(v.at, len(rows)-1)
		if i := slices.IndexFunc(rows, func(r row) bool { return r.key == v.selected }); i >= 0 {
			at = i
		}
	}
	v.at = max(0, at)
	if v.selected = ""; len(rows) > 0 {
		v.selected = rows[v.at].key
	}
	height := m.bodyHeight() - 1 // without the heading
	v.top = max(0, min(v.top, v.at, len(rows)-height), v.at-height+1)
	m.page.SetWidth(m.width)
	m.page.SetHeight(m.bodyHeight())
	switch {
	case m.help:
		m.page.SetContent(m.helpText())
	case m.lock != lockKey{}:
		m.page.SetContent(m.detailText())
	}
	return m
}
