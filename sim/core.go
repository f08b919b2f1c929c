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

// Core says what is healed when the faults of a run are over.
type Core uint8

// What is healed.
const (
	// CoreDrawn lets the seed choose: a core first in one of four runs in which something
	// can stay broken, and everything at once in the others.
	CoreDrawn Core = iota
	// CoreFirst heals a core first where something can stay broken.
	CoreFirst
	// CoreNever heals everything at once.
	CoreNever
)

// A run that heals everything at once does not show that a protocol needs every member: anything that is
// stuck without some member goes on when that member is back. So some runs heal a core first, and
// leave the rest as broken as it is, for good. A core is as few members as membership
// needs: a quorum of the newest view that any of them has accepted, and of every view in
// its base, by the members that remember it; or every founder, where too much is forgotten
// (docs/design/membership.md §4, §5); a guest that is in no view of theirs is not asked what it remembers. All of it
// runs and is configured alike, its links and disks are well, and all clients
// but those of the rest can reach it. Then every call of these clients must be answered,
// every name that a client of the rest has held must be free again, and all of the core
// must be in one view that may grant. Only then the rest is healed as well, while users
// go on.
//
// Each member of the rest is broken in one way, towards all of the core. A member that is cut off
// from only some of the core may lead the members that it reaches, and does no wrong: no promise says
// that some core is served then. In partition mode any that may be any member that two sides
// hear, so there every member of the rest that runs is cut off from the core.

// rest is how a member stays that is not in the core.
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

// mark counts members who stayed so while a core was healed.
func (r rest) mark() mark { return mark{"rest", restNames[r]} }

// clientsAway counts clients who stayed away meanwhile.
var clientsAway = mark{"rest", "clients away"}

// fault is what breaks a member so.
func (r rest) fault() Fault {
	return [restCount]Fault{Crash, Pause, Partition, OneWay, OneWay, DiskFull}[r]
}

// between reports whether a member that is broken so hears the core, or is heard by it.
func (r rest) between() bool { return r == restUnheard || r == restDeaf || r == restFull }

// breaking are the faults that may leave a member broken.
const breaking Faults = 1<<Crash | 1<<Pause | 1<<Partition | 1<<OneWay | 1<<DiskFull

// core is the members that are healed while the others stay as they are.
type core struct {
	in    []bool // by place
	as    []rest // of the others, by place
	since instant
}

// coreStream is the source of chance of all that is about cores: runs that have none are
// what they would be without them.
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

// healCore heals a core, if a core is chosen and leaves some member out, and reports whether it does.
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

// drawCore chooses the members: those of an order up to where they suffice, and some more.
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

// goesOn reports whether a founder is in a view, and stays: in partition mode any that is
// all it needs. A view is not remembered there, and a founder that knows none waits for every
// founder, as at the first start.
func (m *process) goesOn() bool {
	return m.founder && m.up && m.view != nil && !m.leaving && m.wrong == fits
}

// hears reports whether a member of the rest still tells the core what it knows: a member that
// looks for a coordinator starts from the newest view that it hears of.
func (c *core) hears(m *process) bool {
	return m.up && !c.in[m.place] && (c.as[m.place] == restDeaf || c.as[m.place] == restFull)
}

// fits reports whether the terms of a view are those of the run. Members that have formed
// one while they were configured otherwise elect no coordinator until all founders attend.
func (w *world) fits(v *election.View) bool {
	_, another := otherSpace.values(&w.settings)
	for _, line := range []string{fmt.Sprint("version ", membership.ProtocolVersion), fmt.Sprint("lease ", w.settings.lease), fmt.Sprint("drift ", w.settings.drift)} {
		if len(v.Terms) > 0 && !slices.Contains(v.Terms, line) {
			return false
		}
	}
	return !slices.Contains(v.Terms, another)
}

// remains is how a member stays broken: as it is, or as is chosen where nothing is wrong
// with it.
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

// breaks chooses how a member with which nothing is wrong is broken.
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

// strand leaves a member broken for good.
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

// link lets a member of the rest and the core's at a place hear each other, or not.
func (w *world) link(m *process, i int) {
	as, until := w.core.as[m.place], map[bool]instant{true: protocol.Never}
	w.network.cut[m.place][i] = until[as == restApart || as == restUnheard]
	w.network.cut[i][m.place] = until[as == restApart || as == restDeaf]
}

// join heals a member that is of the core.
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
		m.crash(m.life) // it is put right: who could tell it that it is wrong may be of the rest
	}
	m.heal()
}

// healClients heals all clients but those who are away and stay so: never the last one.
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

// grow heals more of the rest where the core does not suffice any more, and reports
// whether it did: a proposal that was under way from a member of the rest may need that member.
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

// others tells how the others stay.
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

// leading returns who must serve: the coordinator, or that of the core's members.
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

// coreIsServed lets users go on, and requires that the core alone answers them. It reports
// whether the run goes on.
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

// unsettle lets users want new things again.
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

// despairWays is how many ways users' last work takes at most: they take some ten names each, one after the other.
const despairWays = 240

// despair is how long after the last fault what is not answered is stuck.
func (w *world) despair() time.Duration { return despair + w.slower(despairWays) }

// despaired says since when something is stuck.
func (w *world) despaired() string {
	if w.core == nil {
		return fmt.Sprintf("%v after the last fault", w.despair())
	}
	return fmt.Sprintf("%v after a core of %s was healed (and not %s)", w.despair(), w.core.names(w), w.core.others(w))
}
