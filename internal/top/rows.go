package top

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// paneID is one of the tables.
type paneID int

const (
	paneMembers paneID = iota
	paneSpaces
	paneNames
	paneWaits
	paneCount
)

// pane is a table: its columns, and its orders, the usual one first.
type pane struct {
	title   string
	columns []column
	orders  []string
}

// panes are the tables. A column with a higher rank is omitted earlier on a narrow terminal.
var panes = [paneCount]pane{
	{"Members", []column{
		{title: "MEMBER"}, {title: "ROLE", want: 18}, {title: "STATE"}, {title: "FOR", right: true, least: 5},
		{title: "ELECTION", rank: 2}, {title: "ADDRESS", rank: 1, whole: true}, {title: "HTTP", rank: 3, whole: true},
	}, []string{"state", "age", "name"}},
	{"Spaces", []column{
		{title: "SPACE"}, {title: "PROTOCOL", rank: 1}, {title: "CLASS", rank: 5}, {title: "STATE"}, {title: "AUTHORITY", rank: 2},
		{title: "LOCKS", right: true}, {title: "WAITERS", right: true}, {title: "SESSIONS", right: true, rank: 3},
		{title: "GRANTS/S", right: true}, {title: "LOCKS±/S", right: true, rank: 6}, {title: "WAITERS±/S", right: true, rank: 6},
		{title: "WHY", rank: 4},
	}, []string{"state", "waiters", "locks", "grants/s", "name"}},
	{"Names", []column{
		{title: "NAME", want: 20}, {title: "SPACE", rank: 2}, {title: "STATE", rank: 3}, {title: "HOLDER"}, {title: "MEMBER", rank: 1},
		{title: "HELD", right: true, least: 5}, {title: "WAITERS", right: true}, {title: "GRANTS/S", right: true}, {title: "REASON", rank: 4},
	}, []string{"waiters", "held", "grants/s", "name"}},
	{"Waits", []column{
		{title: "NAME", want: 20}, {title: "SPACE", rank: 3}, {title: "WAITER"}, {title: "MEMBER", rank: 4}, {title: "WAITED", right: true},
		{title: "BEFORE", right: true}, {title: "GIVES UP", right: true, rank: 2}, {title: "HELD BY", rank: 1}, {title: "REASON", rank: 5},
	}, []string{"waited", "before", "name"}},
}

// row is a row of a table.
type row struct {
	key   string
	lock  lockKey // that it is about; of a space only the space
	cells []string
	ranks []float64 // by order: the smallest is first; equal ones are ordered by key
	bad   bool      // shown in red
	quiet bool      // shown dim
}

// rows returns the rows of the pane, in its order.
func (m *Model) rows() (rows []row) {
	if m.status == nil {
		return nil
	}
	switch m.pane {
	case paneMembers:
		rows = m.memberRows()
	case paneSpaces:
		rows = m.spaceRows()
	case paneNames:
		rows = m.nameRows()
	case paneWaits:
		rows = m.waitRows()
	}
	v := m.views[m.pane]
	slices.SortFunc(rows, func(a, b row) int {
		order := cmp.Or(cmp.Compare(a.ranks[v.order], b.ranks[v.order]), cmp.Compare(a.key, b.key))
		if v.reversed {
			return -order
		}
		return order
	})
	return rows
}

// ageOf formats the time from t until now. The zero time is not known.
func (m *Model) ageOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return m.config.Age(m.now.Sub(t))
}

// inTime formats the time from now until t. The zero time is not known.
func (m *Model) inTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return m.config.Age(t.Sub(m.now))
}

// unix orders times; one that is not known is last.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return math.Inf(1)
	}
	return float64(t.UnixMilli())
}

// memberRows are the members of the view, and the missing ones.
func (m *Model) memberRows() (rows []row) {
	missing := map[string]*schema.MissingMember{}
	for _, member := range m.status.Missing {
		missing[member.Name] = member
	}
	add := func(name, role, state, election, address, http string, since time.Time, trouble float64) {
		rows = append(rows, row{
			key: name, cells: []string{name, role, state, m.ageOf(since), election, address, http},
			ranks: []float64{trouble, -unix(since), 0}, bad: trouble < 0,
		})
	}
	for _, member := range m.status.View.Members {
		role := "voter"
		if !member.Voter {
			role = "guest"
		}
		if member.Name == m.status.View.Coordinator {
			role += ", coordinator"
		}
		gone, trouble := missing[member.Name], 0.0
		delete(missing, member.Name)
		switch {
		case gone != nil:
			add(member.Name, role, "missing", "", member.Address, member.Http, api.TimeOf(gone.Since), -2)
			continue
		case member.State != "normal":
			trouble = -1
		}
		add(member.Name, role, member.State, member.Election, member.Address, member.Http, api.TimeOf(member.Since), trouble)
	}
	for _, member := range missing {
		add(member.Name, "voter", "missing", "", member.Address, "", api.TimeOf(member.Since), -2)
	}
	return rows
}

// spaceRows are the spaces, with the change of their numbers since the refresh before.
func (m *Model) spaceRows() (rows []row) {
	before := map[string]*schema.Space{}
	if m.before != nil {
		for _, space := range m.before.Spaces {
			before[space.Name] = space
		}
	}
	for _, space := range m.status.Spaces {
		locks, waiters := "", ""
		if old := before[space.Name]; old != nil {
			locks, waiters = m.change(old.Locks, space.Locks), m.change(old.Waiters, space.Waiters)
		}
		trouble := 0.0
		if space.State != "ready" {
			trouble = -1
		}
		rate := m.rates.spaces[space.Name]
		rows = append(rows, row{
			key: space.Name, lock: lockKey{space: space.Name}, bad: trouble < 0,
			cells: []string{
				space.Name, space.Protocol, holdfast.Class(space.Class).String(), space.State, strings.Join(space.Authority, ","),
				strconv.Itoa(int(space.Locks)), strconv.Itoa(int(space.Waiters)), strconv.Itoa(int(space.Sessions)),
				m.rate(rate), locks, waiters, space.Why,
			},
			ranks: []float64{trouble, -float64(space.Waiters), -float64(space.Locks), -rate, 0},
		})
	}
	return rows
}

// change formats the change of a number per second.
func (m *Model) change(before, now int32) string {
	if m.age <= 0 || before == now {
		return ""
	}
	return fmt.Sprintf("%+.1f", float64(now-before)/m.age.Seconds())
}

// rate formats grants per second.
func (m *Model) rate(rate float64) string {
	switch {
	case !m.rates.known:
		return ""
	case rate >= 100:
		return strconv.Itoa(int(rate))
	case rate < 0.05:
		return "0"
	}
	return strconv.FormatFloat(rate, 'f', 1, 64)
}

// nameRows are the names that are held or waited for, and those that were granted lately.
func (m *Model) nameRows() (rows []row) {
	listed := map[lockKey]bool{}
	for _, lock := range m.locks {
		key := lockKey{lock.Space, lock.Name}
		listed[key] = true
		rows = append(rows, m.nameRow(key, lock))
	}
	for key := range maps.Keys(m.rates.names) {
		if !listed[key] && strings.HasPrefix(key.name, m.filter) && (m.space == "" || m.space == key.space) && m.rates.names[key] >= 0.05 {
			row := m.nameRow(key, &schema.Lock{Space: key.space, Name: key.name})
			if slices.Contains(m.cut, key.space) {
				row.cells[2] = "?" // the list has left it out
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (m *Model) nameRow(key lockKey, lock *schema.Lock) row {
	state, holder, member, reason := "free", "", "", ""
	var since time.Time
	if len(lock.Holders) > 0 {
		first := lock.Holders[0]
		for _, grant := range lock.Holders {
			if unix(api.TimeOf(grant.Since)) < unix(api.TimeOf(first.Since)) {
				first = grant
			}
		}
		state, holder, member, reason, since = holdfast.Mode(lock.Mode).String(), cmp.Or(first.Owner, first.Client), first.Member, first.Reason, api.TimeOf(first.Since)
		if first.Grace {
			state = "grace"
		}
		if more := len(lock.Holders) - 1; more > 0 {
			holder += fmt.Sprintf(" +%d", more)
		}
	}
	rate := m.rates.names[key]
	return row{
		key: key.space + "/" + key.name, lock: key, quiet: len(lock.Holders) == 0 && len(lock.Waiters) == 0,
		cells: []string{
			key.name, key.space, state, holder, member, m.ageOf(since), count(len(lock.Waiters)), m.rate(rate), reason,
		},
		ranks: []float64{-float64(len(lock.Waiters)), unix(since), -rate, 0},
	}
}

// count formats a number; 0 is not shown.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// waitRows are the waiting requests.
func (m *Model) waitRows() (rows []row) {
	for _, lock := range m.locks {
		holder := ""
		if len(lock.Holders) > 0 {
			holder = cmp.Or(lock.Holders[0].Owner, lock.Holders[0].Client)
		}
		for _, wait := range lock.Waiters {
			rows = append(rows, row{
				key: lock.Space + "/" + lock.Name + "/" + wait.Session + "/" + strconv.Itoa(int(wait.Position)), lock: lockKey{lock.Space, lock.Name},
				cells: []string{
					lock.Name, lock.Space, cmp.Or(wait.Owner, wait.Client), wait.Member, m.ageOf(api.TimeOf(wait.Since)), strconv.Itoa(int(wait.Position)),
					m.inTime(api.TimeOf(wait.Until)), holder, wait.Reason,
				},
				ranks: []float64{unix(api.TimeOf(wait.Since)), float64(wait.Position), 0},
			})
		}
	}
	return rows
}

// longestWait returns how long the oldest request has waited.
func (m *Model) longestWait() time.Duration {
	longest := time.Duration(0)
	for _, lock := range m.locks {
		for _, wait := range lock.Waiters {
			longest = max(longest, m.now.Sub(api.TimeOf(wait.Since)))
		}
	}
	return longest
}
