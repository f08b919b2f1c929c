package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Core is the choice of what is healed when the faults of a run are over.
type Core uint8

// The ways to heal.
const (
	// CoreDrawn lets the seed choose. One in four runs in which something can stay broken heals a core first; the
	// others heal everything at once.
	CoreDrawn Core = iota
	// CoreFirst heals a core first if something can stay broken.
	CoreFirst
	// CoreNever heals everything at once.
	CoreNever
)

// A run that heals everything at once does not show that a protocol works without some member: anything stuck continues
// once that member is back. So some runs heal a core first, and leave the rest broken. A core is the minimum that
// membership needs: a quorum of the newest view that any of its members has accepted, and of every view in its base,
// counted over members that remember it; or every founder, where too much is forgotten (docs/design/membership.md §4,
// §5). A guest that is in none of their views need not remember anything. All of the core runs with the same
// configuration, its links and disks are well, and all clients but those of the rest can reach it. Then every call of
// these clients must be answered, every name held by a client of the rest must become free, and all of the core must be
// in one view that may grant. Only then the rest is healed as well, while users continue.
//
// Each member of the rest is broken in one way, towards all of the core. A member that is cut off from only some of the
// core may rightly lead the members that it reaches: no promise covers part of a core. In partition mode any this holds
// for any member that two sides hear, so every running member of the rest is cut off from the core.

// rest is the way in which a member outside the core is broken.
type rest uint8

const (
	restDown rest = iota // its process has ended
	restPaused
	restApart   // it and the core do not hear each other
	restUnheard // the core does not hear it, but it hears the core
	restDeaf    // it does not hear the core, but the core hears it
	restFull    // its disk is full; all else is well
	restCount
)

var restNames = [restCount]string{"down", "paused", "cut-off", "unheard", "deaf", "disk-full"}

// mark is the row of coverage for members broken in this way while a core was healed.
func (r rest) mark() mark { return mark{"rest", restNames[r]} }

// clientsAway counts clients that stayed away meanwhile.
var clientsAway = mark{"rest", "clients away"}

// fault is the fault that breaks a member in this way.
func (r rest) fault() Fault {
	return [restCount]Fault{Crash, Pause, Partition, OneWay, OneWay, DiskFull}[r]
}

// between reports whether a member broken in this way hears the core, or is heard by it.
func (r rest) between() bool { return r == restUnheard || r == restDeaf || r == restFull }

// breaking is the set of faults that may leave a member broken.
const breaking Faults = 1<<Crash | 1<<Pause | 1<<Partition | 1<<OneWay | 1<<DiskFull

// core is the set of members that are healed while the others stay broken.
type core struct {
	in    []bool // by place
	as    []rest // how the others are broken, by place
	since instant
}

// coreStream is the source of chance for cores, apart from the others so that runs without a core draw the same values.
const coreStream = 0x71756f72756d

// breakable lists the ways in which the faults of the run break a member.
func (w *world) breakable() (all []rest) {
	for r := range restCount {
		if r.between() && w.settings.faults.Has(Any) {
			continue
		}
		if w.settings.faults.Has(r.fault()) {
			all = append(all, r)
		}
	}
	return all
}

// coreFirst chooses whether a core is healed first.
func (w *world) coreFirst() bool {
	w.within("", "core", 0)
	return w.whether("first", func() bool {
		if w.cores == CoreNever || w.nemesis.justOne() || w.settings.reforms > 0 || len(w.breakable()) == 0 {
			return false
		}
		return w.rand.IntN(4) == 0 || w.cores == CoreFirst
	})
}

// healCore heals a core if one is drawn and leaves some member out, and reports whether it does.
func (w *world) healCore() bool {
	usual := w.rand
	w.rand = newDice(w.settings.seed, coreStream)
	defer func() { w.rand = usual }()
	if !w.coreFirst() || w.beyondSurvival() {
		return false
	}
	c := w.drawCore()
	if !slices.Contains(c.in, false) {
		return false // no member can be spared
	}
	text := "only a core is healed: " + c.names(w)
	w.trace("%s", text)
	w.reporter.emit(timeline.Event{Kind: timeline.Remark, Text: text})
	w.core, w.healed, w.healedAt, w.weather = c, true, w.now, calm()
	c.since = w.now
	w.store.heal()
	w.nemesis.lost = nil
	for i, m := range w.members {
		if !c.in[i] {
			c.as[i] = w.remains(m)
			w.count.hits[c.as[i].mark()]++
			w.strand(m)
		}
	}
	for i, m := range w.members {
		if c.in[i] {
			w.join(m)
		}
	}
	w.healClients()
	w.grow()
	w.trace("the rest stays: %s", c.others(w))
	return true
}

// drawCore chooses the members: a shuffled list up to where they suffice, and some more.
func (w *world) drawCore() *core {
	c := &core{in: make([]bool, len(w.members)), as: make([]rest, len(w.members))}
	w.within("", "core", 0)
	left := w.order("keeps", w.names(len(w.members)), w.shuffled)
	for len(left) > 0 && !w.suffices(c) {
		c.in[left[0]] = true
		left = left[1:]
	}
	for range w.number("more", max(1, len(left))) {
		c.in[left[0]] = true
		left = left[1:]
	}
	return c
}

// goesOn reports whether a founder is in a view and stays, which is all that partition mode any needs. Views are not
// remembered there, and a founder that knows none waits for every founder, as at the first start.
func (m *process) goesOn() bool {
	return m.founder && m.up && m.view != nil && !m.leaving && m.wrong == fits
}

// hears reports whether the core still hears a member of the rest. A member that looks for a coordinator starts from
// the newest view that it hears of.
func (c *core) hears(m *process) bool {
	return m.up && !c.in[m.place] && (c.as[m.place] == restDeaf || c.as[m.place] == restFull)
}

// fits reports whether the terms of a view are those of the run. Members that formed a view under another configuration
// elect no coordinator until all founders attend.
func (w *world) fits(v *election.View) bool {
	_, another := otherSpace.values(&w.settings)
	for _, line := range []string{fmt.Sprint("version ", membership.ProtocolVersion), fmt.Sprint("lease ", w.settings.lease), fmt.Sprint("drift ", w.settings.drift)} {
		if len(v.Terms) > 0 && !slices.Contains(v.Terms, line) {
			return false
		}
	}
	return !slices.Contains(v.Terms, another)
}

// remains returns how a member stays broken: as it is, or as drawn if it is well.
func (w *world) remains(m *process) rest {
	unheard, deaf := false, false
	for i, in := range w.core.in {
		unheard = unheard || in && w.network.cut[m.place][i] > w.now
		deaf = deaf || in && w.network.cut[i][m.place] > w.now
	}
	switch {
	case !m.up:
		return restDown
	case m.paused:
		return restPaused
	case unheard && deaf, (unheard || deaf || m.disk.full > w.now) && w.settings.faults.Has(Any):
		return restApart
	case unheard:
		return restUnheard
	case deaf:
		return restDeaf
	case m.disk.full > w.now:
		return restFull
	}
	r := w.breaks(m)
	w.hit(r.fault())
	w.befall(r.fault(), 0, []string{m.name}, "%s will be %s", m, restNames[r])
	return r
}

// breaks chooses how to break a member that is well.
func (w *world) breaks(m *process) rest {
	drawn := func() int {
		all := w.breakable()
		return int(all[w.rand.IntN(len(all))])
	}
	w.within(m.name, "rest", 0)
	if w.tape == nil {
		return rest(drawn())
	}
	return rest(w.tape.option("is", int(restDown), int(restCount), func(i int) string { return restNames[i] }, drawn))
}

// strand leaves a member broken permanently.
func (w *world) strand(m *process) {
	as := w.core.as[m.place]
	switch as {
	case restDown:
		m.stuck = true
		m.crash(m.life)
	case restPaused:
		m.pause(longestRun)
		m.stuck = true
	case restFull:
		m.disk.full = protocol.Never
	}
	for i, in := range w.core.in {
		if in {
			w.link(m, i)
		}
	}
}

// link connects or cuts a member of the rest and the core's member at a place.
func (w *world) link(m *process, i int) {
	as, until := w.core.as[m.place], map[bool]instant{true: protocol.Never}
	w.network.cut[m.place][i] = until[as == restApart || as == restUnheard]
	w.network.cut[i][m.place] = until[as == restApart || as == restDeaf]
}

// join heals a member of the core.
func (w *world) join(m *process) {
	for i := range w.members {
		if w.core.in[i] {
			w.network.cut[m.place][i], w.network.cut[i][m.place] = 0, 0
		} else {
			w.link(w.members[i], int(m.place))
		}
	}
	for i := range w.clients {
		delete(w.nemesis.cutOff, i*len(w.members)+int(m.place))
	}
	if m.wrong != fits {
		m.crash(m.life) // its configuration is fixed: a member that could refuse it may be of the rest
	}
	m.heal()
}

// healClients heals all clients but those that stay away: at least one.
func (w *world) healClients() {
	well := w.settings.clients
	w.healOthers()
	for _, c := range w.clients[:w.settings.clients] {
		w.within(c.name, "rest", 0)
		crashes, pauses := w.settings.faults.Has(Crash) || w.replaying(), w.settings.faults.Has(Pause) || w.replaying()
		switch {
		case well == 1:
		case !c.up || c.paused:
			c.stuck = true
		case crashes && w.oneIn("is-down", 8):
			c.crash()
			c.stuck = true
		case pauses && w.oneIn("is-paused", 8):
			c.pause(longestRun)
			c.stuck = true
		}
		if c.stuck {
			well--
			w.count.hits[clientsAway]++
			continue
		}
		c.heal()
	}
}

// grow heals more of the rest if the core no longer suffices, and reports whether it did: a proposal in flight from a
// member of the rest may need that member.
func (w *world) grow() bool {
	c := w.core
	if c == nil || w.suffices(c) {
		return false
	}
	for i, m := range w.members {
		if !c.in[i] && !w.suffices(c) {
			c.in[i] = true
			w.join(m)
		}
	}
	w.count.grown++
	c.since = w.now
	w.trace("the core has accepted what needs more: now it is %s", c.names(w))
	return true
}

// names lists the members of the core.
func (c *core) names(w *world) string {
	var all []string
	for i, m := range w.members {
		if c.in[i] {
			all = append(all, m.name)
		}
	}
	return strings.Join(all, " ")
}

// others describes how the others are broken.
func (c *core) others(w *world) string {
	var all []string
	for i, m := range w.members {
		if !c.in[i] {
			all = append(all, m.name+" "+restNames[c.as[i]])
		}
	}
	for _, client := range w.clients {
		if client.stuck {
			all = append(all, client.name+" away")
		}
	}
	return strings.Join(all, ", ")
}

// demanded reports whether a member must be well.
func (w *world) demanded(m *process) bool { return w.core == nil || w.core.in[m.place] }

// leading returns the member that must serve: the coordinator, or the coordinator of the core.
func (w *world) leading() *process {
	if w.core == nil {
		return w.coordinator()
	}
	for _, m := range w.members {
		if !w.demanded(m) || !m.up || m.view == nil {
			continue
		}
		if c := w.network.of[m.view.Coordinator]; c != nil && c.up && !c.paused && c.id == m.view.Coordinator && c.view != nil && c.view.Coordinator == c.id {
			return c
		}
	}
	return nil
}

// coreIsServed lets users continue, and requires that the core alone answers them. It reports whether the run
// continues.
func (w *world) coreIsServed() bool {
	w.count.hits[phaseCore]++
	if w.run(w.now + settleAfter); w.over() {
		return false
	}
	w.settle()
	if w.await(w.core.since); w.over() || w.judge.violation != nil {
		return false
	}
	w.count.hits[phaseCoreSettled]++
	w.unsettle()
	return true
}

// unsettle lets users make new calls again.
func (w *world) unsettle() {
	w.settling = false
	pause := func() time.Duration { return w.rand.below(w.settings.think) }
	for _, c := range w.clients {
		c.unsettle(pause)
	}
	for _, s := range w.visitors {
		if !s.held {
			s.plan(pause)
		}
	}
	for _, m := range w.members {
		if l := m.local; l != nil && l.resting {
			l.resting = false
			l.plan()
		}
	}
}

// despairWays is the maximum number of one-way trips of users' last work: about ten names each, one after the other.
const despairWays = 240

// despair is the time after the last fault at which an unanswered call is stuck.
func (w *world) despair() time.Duration { return despair + w.slower(despairWays) }

// despaired describes since when something is stuck.
func (w *world) despaired() string {
	if w.core == nil {
		return fmt.Sprintf("%v after the last fault", w.despair())
	}
	return fmt.Sprintf("%v after a core of %s was healed (and not %s)", w.despair(), w.core.names(w), w.core.others(w))
}
