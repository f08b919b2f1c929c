package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/server/observe"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In an eighth of the runs a name is observed. The observer is the production machine (package internal/server/observe);
// this file stands for the streams between members (package internal/server/events) and for the calls that look. The
// events of each member reach it in order and with delays. Streams break, which loses the events of the meantime, and
// each such gap is reported within seconds, as those streams report it. Looks go through any member, and some are never
// answered.
//
// Checked is what an observer is promised (P12): a holder is shown after the ones that it excludes have ended; no grant is
// shown again after its end; and each grant between the first state and the last is shown, or the observer says that it
// may have missed some. When all users have nothing, so does the last state (P4).

// observerStream is mixed with the seed to draw observers.
const observerStream = 0x6f627377

// drawObserver draws whether a name is observed, from its own source of chance. In partition mode any there is no one
// order of grants. Runs that count the messages of users' acts have no looks.
func (s *settings) drawObserver(c *Config, r dice) {
	drawn := r.IntN(8) == 0 || c.Bias.Observers
	_, ships := Find(c.Protocol.Name) // others need not answer looks
	s.observes = drawn && ships && c.Protocol.Locks && !s.costs && !s.faults.Has(Any)
}

// Rows of coverage for observers.
var (
	observedGrant = mark{"observe", "a grant is shown"}
	observedGap   = mark{"observe", "a gap is reported"}
)

// observer observes one name.
type observer struct {
	world   *world
	dice    dice
	name    string
	machine *observe.Machine
	feeds   []feed
	number  int // of the latest look
	asked   bool
	armed   instant // when it acts next; 0 for none

	last    *schema.Observed
	shown   map[uint64]bool // tokens; false once they have ended
	granted []uint64        // tokens of the events that members have made, shown or not
	highest uint64          // the highest token shown
	newest  uint64          // up to here nothing more is expected
	base    uint64          // the highest token of the latest look
	floor   uint64          // that of the first look: earlier grants are past
	owed    []uint64        // tokens that were skipped, until a gap is reported
}

// feed is the stream of one member.
type feed struct {
	queue  []*schema.WatchEvent // on their feed
	cut    int                  // number of the present cut; 0 while the stream is whole
	cuts   int                  // number of the latest cut
	missed bool                 // something has happened since
	silent bool                 // the observer knows of the cut
	latest instant              // when the last event arrives
	waited map[requestKey]bool  // requests that were queued
}

// addObserver makes the observer of the first name.
func (w *world) addObserver() {
	if !w.settings.observes {
		return
	}
	o := &observer{world: w, dice: newDice(w.settings.seed, observerStream+1), name: w.settings.names[0].name, shown: map[uint64]bool{}, feeds: make([]feed, len(w.members))}
	for i := range o.feeds {
		o.feeds[i].waited = map[requestKey]bool{}
	}
	o.machine = observe.NewMachine("default", o.name, func() (up []string) {
		for _, m := range w.members {
			if m.up {
				up = append(up, m.name)
			}
		}
		return up
	})
	w.observer = o
	w.within("observer", "begin", 0)
	w.do(2*time.Second+o.below("at", 3*time.Second), o.look)
}

// below is world.below from the observer's own source of chance.
func (o *observer) below(site string, d time.Duration) time.Duration {
	return o.world.length(site, 0, func() time.Duration { return o.dice.below(d) })
}

// decided sends the event of a decision, if it is about the name.
func (o *observer) decided(m *process, d *lock.Decision) {
	if o == nil || d.Name != o.name {
		return
	}
	w, feed, key := o.world, &o.feeds[m.place], requestKey{d.Session, d.Request}
	e := events.Of("default", d, feed.waited[key])
	if d.Kind != lock.Queued {
		delete(feed.waited, key)
	} else if d.Position >= 0 {
		feed.waited[key] = true
	}
	if e == nil {
		return
	}
	if e.GetEvent() == events.Granted && !slices.Contains(o.granted, e.GetToken()) {
		o.granted = append(o.granted, e.GetToken())
	}
	if feed.cut != 0 {
		feed.missed = true
		return
	}
	e.Member = m.name
	was := w.scope()
	w.tape.begin("observer", "hears")
	delay := 40 * time.Millisecond
	if w.settings.faults.Has(Delay) && w.whether("late", func() bool { return o.dice.odds(300) }) {
		delay = 3 * time.Second
	}
	feed.latest = max(feed.latest, w.now+o.below("after", delay))
	feed.queue = append(feed.queue, e)
	cuts := feed.cuts
	w.do(feed.latest, func() {
		if feed.cuts == cuts {
			o.hear(feed)
		}
	})
	if !w.healed && w.whether("breaks", func() bool { return o.dice.odds(30) }) {
		o.sever(m, 100*time.Millisecond+o.below("for", 6*time.Second))
	}
	w.goOn(was)
}

// hear hands the next event of a member to the machine.
func (o *observer) hear(feed *feed) {
	e := feed.queue[0]
	feed.queue = feed.queue[1:]
	o.machine.Happened(o.world.now, e)
	o.act()
}

// sever breaks a member's stream, for a while; 0 is until the member has started again.
func (o *observer) sever(m *process, length time.Duration) {
	w, feed := o.world, &o.feeds[m.place]
	if feed.cut != 0 {
		return
	}
	feed.cuts++
	feed.cut, feed.missed, feed.silent = feed.cuts, len(feed.queue) > 0, false
	feed.queue = nil
	cut := feed.cut
	w.trace("the observer does not hear %s any more", m)
	w.do(w.now+time.Second, func() {
		if feed.cut == cut {
			feed.silent = true
			o.machine.Silent(m.name)
			o.act()
		}
	})
	if length > 0 {
		w.do(w.now+length, func() { o.join(m, cut) })
	}
}

// join makes a member's stream whole again.
func (o *observer) join(m *process, cut int) {
	w, feed := o.world, &o.feeds[m.place]
	if feed.cut != cut || !m.up {
		return // its next start does that
	}
	feed.cut = 0
	if !feed.missed && !feed.silent {
		return // a stream that broke in a quiet moment, and was opened again soon
	}
	w.trace("the observer hears %s again, and has missed events: %v", m, feed.missed)
	w.exercises(observedGap, feed.missed)
	o.machine.Heard(m.name, feed.missed)
	o.act()
}

// ended is the end of a member's process: the observer does not hear what its clients have lost.
func (o *observer) ended(m *process) {
	if o == nil {
		return
	}
	o.sever(m, 0)
	o.feeds[m.place].missed = true
	clear(o.feeds[m.place].waited)
}

// started is the start of a member's process.
func (o *observer) started(m *process) {
	if o == nil || o.feeds[m.place].cut == 0 {
		return
	}
	w, cut := o.world, o.feeds[m.place].cut
	w.tape.begin("observer", "rejoins")
	w.do(w.now+300*time.Millisecond+o.below("after", 2*time.Second), func() { o.join(m, cut) })
}

// act takes the states that have come out, and takes a look when the machine wants one.
func (o *observer) act() {
	w := o.world
	for _, state := range o.machine.Take() {
		o.check(state)
	}
	at, wanted := o.machine.LookAt()
	if o.asked || !wanted {
		return
	}
	if at = max(at, w.now); o.armed > w.now && o.armed <= at {
		return
	}
	o.armed = at
	w.do(at, func() {
		if o.armed == at {
			o.armed = 0
			o.look()
		}
	})
}

// look asks a member for the state of the name.
func (o *observer) look() {
	w := o.world
	o.machine.Wake(w.now)
	at, wanted := o.machine.LookAt()
	if o.asked || !wanted || at > w.now {
		o.act()
		return
	}
	was := w.scope()
	w.tape.begin("observer", "looks")
	defer w.goOn(was)
	o.number++
	o.asked = true
	number, mark, through := o.number, o.machine.Mark(), o.through()
	failed := func(pause time.Duration) {
		w.do(w.now+pause, func() {
			if o.number == number && o.asked {
				o.asked = false
				o.look()
			}
		})
	}
	if !through.up || through.paused {
		failed(200 * time.Millisecond)
		return
	}
	failed(3 * time.Second)
	through.ask(userSpace, &protocol.Show{Name: o.name}, func(result any) {
		if o.number != number || !o.asked {
			return
		}
		shown, is := result.(*lock.Lock)
		if !is {
			failed(200 * time.Millisecond)
			return
		}
		document := o.document(shown)
		w.do(w.now, func() {
			if o.number == number && o.asked {
				o.asked, o.base = false, newestOf(document)
				o.machine.Looked(w.now, mark, document)
				o.act()
			}
		})
	})
}

// newestOf returns the highest token in a look, past grants included.
func newestOf(l *schema.Lock) (token uint64) {
	for _, g := range slices.Concat(l.GetHolders(), l.GetHistory()) {
		token = max(token, g.GetToken())
	}
	return token
}

// through chooses the member that is asked; by default the first.
func (o *observer) through() *process {
	w := o.world
	if w.tape == nil {
		return w.members[o.dice.IntN(len(w.members))]
	}
	return w.members[w.tape.option("through", 0, len(w.members), func(i int) string { return w.members[i].name }, func() int { return o.dice.IntN(len(w.members)) })]
}

// document is the state of the name as a call answers it.
func (o *observer) document(shown *lock.Lock) *schema.Lock {
	w := o.world
	document := &schema.Lock{Name: shown.Name, Capacity: int32(shown.Capacity)}
	grant := func(g *lock.Grant) *schema.Grant {
		return &schema.Grant{
			Owner: g.Owner, Session: g.Session.String(), Member: w.called(protocol.ID(g.Session.Member)), Mode: api.ToMode(g.Mode), Units: int32(g.Units),
			Token: uint64(g.Token), Value: g.Value, Revision: g.Revision, Holds: int32(g.Holds), Grace: g.Grace, Revoked: g.Revoked,
		}
	}
	for i := range shown.Holders {
		document.Holders = append(document.Holders, grant(&shown.Holders[i]))
	}
	for i := range shown.History {
		document.History = append(document.History, grant(&shown.History[i]))
	}
	for i := range shown.Waiters {
		r := &shown.Waiters[i]
		document.Waiters = append(document.Waiters, &schema.Wait{
			Owner: r.Owner, Session: r.Session.String(), Member: w.called(protocol.ID(r.Session.Member)), Request: r.Request,
		})
	}
	return document
}

// check checks a state (P12).
func (o *observer) check(state *schema.Observed) {
	w := o.world
	w.trace("the observer is shown %v", o.text(state))
	if state.GetMissed() {
		o.owed = nil
	}
	tokens, units := map[uint64]bool{}, int32(0)
	for _, h := range state.GetHolders() {
		token := h.GetToken()
		held, before := o.shown[token]
		if before && !held {
			w.judge.violate("P12", "token %d of %q is shown again after its end", token, o.name)
			return
		}
		if !before && token > o.newest && o.last != nil && !state.GetMissed() {
			o.skip(token)
		}
		w.exercises(observedGrant, !before)
		o.owed = slices.DeleteFunc(o.owed, func(other uint64) bool { return other == token })
		if !before && h.GetMode() == schema.Mode_MODE_EXCLUSIVE && token < o.highest {
			w.judge.violate("P12", "token %d of %q, which is exclusive, is shown after token %d", token, o.name, o.highest)
			return
		}
		if !before && token <= o.floor && !state.GetMissed() {
			w.judge.violate("P12", "token %d of %q is shown, and was past in the first state", token, o.name)
			return
		}
		o.highest = max(o.highest, token)
		o.shown[token], tokens[token] = true, true
		o.newest = max(o.newest, token)
		units += h.GetUnits()
		if other := state.GetHolders()[0]; len(state.GetHolders()) > 1 && (h.GetMode() == schema.Mode_MODE_EXCLUSIVE || h.GetMode() != other.GetMode()) {
			w.judge.violate("P12", "token %d of %q is shown as held together with token %d, which it excludes", token, o.name, other.GetToken())
			return
		}
	}
	//tidy:unordered each is looked for
	for token, held := range o.shown {
		if held && !tokens[token] {
			o.shown[token] = false
		}
	}
	if o.last == nil {
		o.floor = o.base
	}
	if o.last == nil || state.GetMissed() {
		o.newest = max(o.newest, slices.Max(append(o.granted, 0))) // it may lack any of them
	}
	o.last = state
}

// skip notes which grants a state has skipped that shows this token next.
func (o *observer) skip(token uint64) {
	for _, other := range o.granted {
		if _, shown := o.shown[other]; !shown && other > o.newest && other < token {
			o.owed = append(o.owed, other)
		}
	}
}

// text is a state for people.
func (o *observer) text(state *schema.Observed) (text string) {
	text = "free"
	for i, h := range state.GetHolders() {
		if i == 0 {
			text = ""
		}
		text += fmt.Sprintf("%d ", h.GetToken())
	}
	if state.GetMissed() {
		text += " and may have missed others"
	}
	return text
}

// unsettled describes what the observer is yet to see when no user has anything any more.
func (o *observer) unsettled() (found []string) {
	if o == nil || o.world.core != nil {
		return nil // the rest stays broken, and so do its streams
	}
	for i := range o.feeds {
		if o.feeds[i].cut != 0 {
			found = append(found, fmt.Sprintf("the observer does not hear %s", o.world.members[i]))
		}
		if n := len(o.feeds[i].queue); n > 0 {
			found = append(found, fmt.Sprintf("%d events of %s are on their way to the observer", n, o.world.members[i]))
		}
	}
	if _, wanted := o.machine.LookAt(); wanted || o.asked {
		found = append(found, "the observer takes a look")
	}
	switch {
	case o.last == nil:
		found = append(found, "the observer has seen nothing")
	case len(o.last.GetHolders()) > 0 || len(o.last.GetWaiters()) > 0:
		found = append(found, fmt.Sprintf("the observer of %q still sees %v and %d waiters", o.name, o.text(o.last), len(o.last.GetWaiters())))
	}
	return found
}

// settled checks that no gap has remained unreported (P12).
func (o *observer) settled() {
	if o != nil && len(o.owed) > 0 && o.world.core == nil && o.world.judge.violation == nil {
		o.world.judge.violate("P12", "%q was granted under token %d, which the observer was not shown; it was told of no gap", o.name, o.owed[0])
	}
}
