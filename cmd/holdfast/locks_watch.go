package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// watcher prints a present state and the events that follow it.
type watcher struct {
	out   *output
	json  *api.JSON
	table *table
	last  [][]int // widths of the cells of the last rows
	rows  int     // in the table
	known *known
	early int // how many events are yet to come that may have happened before the listing

	screen func() int // the width of the terminal, which people change; 0 if there is none
	header []int      // the widths of the columns at the last header
	shown  []int      // as they were printed there
	below  int        // rows below it

	interruption
}

func (p *program) newWatcher(c *cli.Command) *watcher {
	t := newTable("TIME", "EVENT", "TOKEN", "NAME", "OWNER", "MEMBER", "AGE", "WHY").
		wide("TOKEN").long("NAME", "OWNER", "MEMBER", "WHY").states("EVENT")
	w := &watcher{out: p.output(c), json: api.NewJSON(), table: t, known: newKnown()}
	w.screen = func() int { return p.output(c).columns }
	w.comments, w.command, w.began = p.stderr, c, time.Now()
	return w
}

// present prints a page of the listing: what is held and waited for.
func (w *watcher) present(page []*schema.Lock) error {
	for _, lock := range page {
		for _, g := range lock.Holders {
			e := valueEvent(grantState(g), lock, g, g.Since)
			w.known.listed(e)
			if err := w.print(e, w.out.now, g.Since); err != nil {
				return err
			}
		}
		for _, wait := range lock.Waiters {
			e := waitingEvent(lock, wait)
			w.known.listed(e)
			if err := w.print(e, w.out.now, wait.Since); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitingEvent returns the event of a request that waits.
func waitingEvent(lock *schema.Lock, wait *schema.Wait) *schema.WatchEvent {
	e := &schema.WatchEvent{
		Event: "waiting", Time: wait.Since, Space: lock.Space, Name: lock.Name, Owner: wait.Owner,
		Member: wait.Member, Session: wait.Session, Client: wait.Client, Reason: wait.Reason,
	}
	if wait.Session != "" { // otherwise it stands for all that wait
		e.Why = fmt.Sprintf("%d before it", wait.Position)
	}
	return e
}

// happened prints an event, unless it is part of the present state.
func (w *watcher) happened(e *schema.WatchEvent) error {
	since, past := w.known.happened(e, w.early > 0)
	w.early--
	if past {
		return nil
	}
	if err := w.print(e, e.Time.AsTime(), since); err != nil {
		return err
	}
	return w.show()
}

// print prints an event, or adds it to the rows that show prints: at a time, at which something has lasted since another.
func (w *watcher) print(e *schema.WatchEvent, at time.Time, since *timestamppb.Timestamp) error {
	switch w.out.format {
	case formatJSON:
		return printMessage(w.out.to, w.json, e)
	case formatYAML:
		return w.out.document(e)
	}
	age := ""
	if since != nil {
		age = formatAge(at.Sub(since.AsTime()))
	}
	w.row(at.Local().Format("15:04:05.000"), e.Event, formatToken(e.Token), formatName(e.Name), cmp.Or(e.Owner, e.Client), e.Member, age, whyOf(e))
	if w.rows >= 1000 {
		return w.show()
	}
	return nil
}

// row adds a row.
func (w *watcher) row(cells ...string) {
	widths := make([]int, len(cells))
	for i, cell := range cells {
		widths[i] = textWidth(visible(cell))
	}
	w.last = append(w.last, widths)
	w.table.row(cells...)
	w.rows++
}

// recentRows is how many rows a cell that is wider than others keeps its column wide.
const recentRows = 20

// show prints the rows that were added. The columns are as wide as the cells of these and of the rows shortly before
// them: a long name does not push all that come after it to the right. On a terminal the header is printed again when
// the columns have moved; they move to the left only after some rows.
func (w *watcher) show() error {
	if w.out.format != formatTable {
		return nil
	}
	for i := range w.table.columns {
		c := &w.table.columns[i]
		c.width = usualWidths[c.title]
		for _, widths := range w.last {
			c.width = max(c.width, widths[i])
		}
	}
	if w.out.columns = w.screen(); w.out.columns > 0 {
		w.align()
	}
	err := w.out.print(w.table)
	w.table, w.rows = w.table.continued(), 0
	if extra := len(w.last) - recentRows; extra > 0 {
		w.last = append(w.last[:0], w.last[extra:]...)
	}
	return err
}

// align prints the header again if the columns have moved since the last one.
func (w *watcher) align() {
	for i := range w.header {
		if c := &w.table.columns[i]; w.below < recentRows {
			c.width = max(c.width, w.header[i])
		}
	}
	chosen, before := w.table.chosen(w.out), w.shown
	w.table.fit(chosen, w.out.columns)
	w.shown = nil
	for _, i := range chosen {
		w.shown = append(w.shown, w.table.columns[i].shown)
	}
	if !slices.Equal(w.shown, before) {
		w.table.begun, w.below, w.header = false, 0, nil
		for i := range w.table.columns {
			w.header = append(w.header, w.table.columns[i].width)
		}
	}
	w.below += w.rows
}

// usualWidths are the least widths of the columns, so that few cells move the ones behind them.
var usualWidths = map[string]int{"TIME": 12, "EVENT": 9, "TOKEN": 18, "NAME": 12, "OWNER": 12, "MEMBER": 6, "AGE": 5, "WHY": 3, "STATE": 6, "HOLDER": 16, "WAITERS": 7, "VALUE": 5}

// whyOf returns the cause of an event, and the reason for the lock; for a new value, that.
func whyOf(event *schema.WatchEvent) string {
	if event.Event == "value" {
		return formatValue(event.Value)
	}
	if event.Reason == "" {
		return event.Why
	}
	return strings.TrimSpace(event.Why + " (" + event.Reason + ")")
}

// known is what a watcher has printed about locks that are held and waited for: since when. It has as many entries as
// there are holders and waiters.
type known struct {
	holds  map[holding]*timestamppb.Timestamp
	waits  map[asking]*timestamppb.Timestamp
	newest map[string]uint64   // of a name that was listed as held: its highest token, until a higher one is granted
	owners map[asking]struct{} // who was listed as a holder
}

type holding struct {
	name  string
	token uint64
}

type asking struct{ name, session, owner string }

func newKnown() *known {
	return &known{
		holds: map[holding]*timestamppb.Timestamp{}, waits: map[asking]*timestamppb.Timestamp{},
		newest: map[string]uint64{}, owners: map[asking]struct{}{},
	}
}

// listed adds a line of the listing.
func (k *known) listed(e *schema.WatchEvent) {
	who := asking{e.Name, e.Session, e.Owner}
	if e.Event == "waiting" {
		k.waits[who] = e.Time
		return
	}
	k.holds[holding{e.Name, e.Token}] = e.Time
	k.newest[e.Name] = max(k.newest[e.Name], e.Token)
	k.owners[who] = struct{}{}
}

// happened adds an event, and returns since when lasted what it ends, or that the event is part of the listing. An early
// event may have happened before the listing. Tokens of a name rise, so a grant with at most the listed token was listed,
// or had ended by then. A request that was listed as waiting, or as a holder, began to wait before.
func (k *known) happened(e *schema.WatchEvent, early bool) (since *timestamppb.Timestamp, past bool) {
	if !early && len(k.owners) > 0 {
		clear(k.owners)
	}
	who, hold := asking{e.Name, e.Session, e.Owner}, holding{e.Name, e.Token}
	switch e.Event {
	case "waiting":
		_, waits := k.waits[who]
		_, holds := k.owners[who]
		if early && (waits || holds) {
			return nil, true
		}
		k.waits[who] = e.Time
	case "granted":
		since = k.waits[who]
		if e.Token <= k.newest[e.Name] {
			return nil, true
		}
		delete(k.waits, who)
		delete(k.newest, e.Name)
		k.holds[hold] = e.Time
	case "cancelled":
		var waits bool
		since, waits = k.waits[who]
		delete(k.waits, who)
		return since, early && !waits
	case "released", "lost", "broken":
		var holds bool
		since, holds = k.holds[hold]
		delete(k.holds, hold)
		return since, !holds && (early || e.Token <= k.newest[e.Name])
	}
	return since, false
}
