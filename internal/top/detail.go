package top

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/printable"
)

// detailText is the page of one lock: its holders, queue and latest grants.
func (m *Model) detailText() string {
	title := []string{bold.Render(ansi.Truncate(printable.Text(m.lock.name), max(1, m.width), "…")), faint.Render("space " + printable.Text(m.lock.space))}
	lock := m.detail
	if lock == nil {
		return fitting(title, m.width) + "\n\nasking …"
	}
	state := red.Render("held")
	if len(lock.Holders) == 0 {
		state = green.Render("free")
	}
	mode := holdfast.Mode(lock.Mode).String()
	if lock.Capacity > 0 {
		mode += fmt.Sprintf(" %d/%d", lock.Units, lock.Capacity)
	}
	title = append(title, state, mode)
	if lock.Token != 0 {
		title = append(title, "token "+strconv.FormatUint(lock.Token, 10))
	}
	if rate := m.rates.names[m.lock]; m.rates.known {
		title = append(title, "grants/s "+m.rate(rate))
	}
	text := []string{fitting(title, m.width)}
	text = append(text, m.section("Holders", "no client holds it", grantColumns("HOLDER", "HELD", "VALID FOR"), m.grantRows(lock.Holders, false))...)
	text = append(text, m.section("Queue", "no request waits", queueColumns, m.queueRows(lock.Waiters))...)
	text = append(text, m.section("Latest grants", "none is known", grantColumns("HOLDER", "BEGAN", "ENDED"), m.grantRows(lock.History, true))...)
	return strings.Join(text, "\n")
}

// section is a table with a title.
func (m *Model) section(title, none string, columns []column, rows []row) []string {
	lines := []string{"", bold.Render(title)}
	if len(rows) == 0 {
		return append(lines, faint.Render("  "+none))
	}
	g := layout(columns, rows, m.width-2)
	lines = append(lines, faint.Render("  "+g.heading()))
	for _, row := range rows {
		lines = append(lines, "  "+g.line(row.cells))
	}
	return lines
}

func grantColumns(holder, since, until string) []column {
	return []column{
		{title: holder}, {title: "MEMBER", rank: 1}, {title: since, right: true}, {title: until, right: true}, {title: "MODE", rank: 4},
		{title: "TOKEN", rank: 3, right: true, whole: true}, {title: "CLIENT", rank: 5}, {title: "SESSION", rank: 6, whole: true}, {title: "REASON", rank: 2},
		{title: "VALUE", rank: 2},
	}
}

// grantRows are grants; of former ones both times are ages.
func (m *Model) grantRows(grants []*schema.Grant, former bool) (rows []row) {
	for _, g := range grants {
		since, until := m.ageOf(api.TimeOf(g.Since)), m.inTime(api.TimeOf(g.Until))
		if former {
			if since, until = since+" ago", m.ageOf(api.TimeOf(g.Until)); until != "" {
				until += " ago"
			}
		} else if g.Grace {
			until += " (grace)"
		}
		who, client := whoIs(g.Owner, g.Client)
		rows = append(rows, row{cells: []string{
			who, g.Member, since, until, modeOf(g.Mode, g.Units), strconv.FormatUint(g.Token, 10), client, g.Session, g.Reason, valueLine.Replace(g.Value),
		}})
	}
	return rows
}

// valueLine makes one line of a value.
var valueLine = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// whoIs returns the name of a holder or waiter, and its client unless that is the name.
func whoIs(owner, client string) (who, rest string) {
	if owner == "" {
		return client, ""
	}
	return owner, client
}

// modeOf formats a mode, with the units of slots.
func modeOf(mode schema.Mode, units int32) string {
	text := holdfast.Mode(mode).String()
	if units > 0 {
		text += " " + strconv.Itoa(int(units))
	}
	return text
}

var queueColumns = []column{
	{title: "BEFORE", right: true}, {title: "WAITER"}, {title: "MEMBER", rank: 1}, {title: "WAITED", right: true}, {title: "GIVES UP IN", right: true, rank: 3},
	{title: "MODE", rank: 4}, {title: "WAITS FOR", rank: 3}, {title: "CLIENT", rank: 5}, {title: "SESSION", rank: 6, whole: true}, {title: "REASON", rank: 2},
	{title: "VALUE", rank: 2},
}

// queueRows are the waiting requests.
func (m *Model) queueRows(waiters []*schema.Wait) (rows []row) {
	for _, w := range waiters {
		who, client := whoIs(w.Owner, w.Client)
		rows = append(rows, row{cells: []string{
			strconv.Itoa(int(w.Position)), who, w.Member, m.ageOf(api.TimeOf(w.Since)), m.inTime(api.TimeOf(w.Until)), modeOf(w.Mode, w.Units),
			strings.Join(w.For, ","), client, w.Session, w.Reason, valueLine.Replace(w.Value),
		}})
	}
	return rows
}

// helpText is the page of the keys.
func (m *Model) helpText() string {
	text := []string{bold.Render("Keys"), ""}
	for _, binding := range helpKeys() {
		text = append(text, fmt.Sprintf("  %-10s %s", binding.Help().Key, binding.Help().Desc))
	}
	return strings.Join(append(text, "",
		bold.Render("What is shown"), "",
		fmt.Sprintf("  A refresh every %v: the status, and at most %s names. A member that answers slowly", m.config.Interval, thousands(nameBound)),
		"  is asked less often. GRANTS/S are averages over ten seconds, from the members' events.",
		"  ± columns are changes per second since the refresh before. Missing members are red.",
	), "\n")
}
