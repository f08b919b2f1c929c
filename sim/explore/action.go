package explore

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
)

// action is a possible event in a state. The list of actions has an order that depends only on the state, so that a run
// is a list of indexes in these lists.
type action struct {
	kind kind
	at   int // a member, a user, or an index among the held packets
	name uint8
}

type kind uint8

const (
	goOn      kind = iota // the default schedule
	resume                // a paused member wakes
	restart               // a member that has crashed starts again
	arrive                // a held packet arrives
	unlock                // a user unlocks
	begin                 // a user asks
	dawdle                // a user delays its next act
	transfer              // an operator makes a member the authority
	crash                 // and the write in progress is lost
	crashKept             // and the write in progress is kept
	pause
	lose      // the next packet
	duplicate // it arrives, and may arrive again
	delay     // it arrives at any later time
)

// next is the next step of the default schedule.
type next struct {
	what  upcoming
	focus int // the member of the step; -1 means all, because time passes
	user  int
}

type upcoming uint8

const (
	nothing upcoming = iota
	packetNext
	openNext
	userNext
	tickNext
	timeNext
)

// upcoming returns the next step of the default schedule: all packets in flight arrive, in the order of sending; then
// the users act that can; then the members that are due tick; then time passes.
func (e *engine) upcoming(w *world) next {
	if len(w.flying) > 0 {
		return next{what: packetNext, focus: w.flying[0].To}
	}
	for i := range w.Users {
		if m := w.members[w.Users[i].Member]; w.Users[i].Phase == opening && m.up && !m.paused {
			return next{what: openNext, focus: m.place, user: i}
		}
	}
	for i := range w.Users {
		if !w.Users[i].Dawdles && w.ready(i) {
			return next{what: userNext, focus: w.Users[i].Member, user: i}
		}
	}
	earliest := protocol.Never
	for _, m := range w.members {
		if !m.up || m.paused {
			continue
		}
		due := m.due(m.soul.Session.Wake(), e.config.Quantum)
		if due <= w.now {
			return next{what: tickNext, focus: m.place}
		}
		earliest = min(earliest, due)
	}
	if earliest == protocol.Never {
		return next{what: nothing, focus: -1}
	}
	return next{what: timeNext, focus: -1}
}

// actions lists the possible actions, the default first. Actions at one member commute with those at another: so
// deviations at a member are only tried before its next step, and when time is about to pass.
func (e *engine) actions(w *world, n next, all []action) []action {
	all = all[:0]
	if n.what != nothing {
		all = append(all, action{kind: goOn})
	}
	for _, m := range w.members {
		switch {
		case n.focus >= 0 && n.focus != m.place:
		case m.paused && n.focus < 0:
			all = append(all, action{kind: resume, at: m.place})
		case !m.up && n.focus < 0:
			all = append(all, action{kind: restart, at: m.place})
		}
	}
	for i, p := range w.held {
		if m := w.members[p.To]; (n.focus < 0 || n.focus == p.To) && !m.paused {
			all = append(all, action{kind: arrive, at: i})
		}
	}
	all = e.requests(w, n, all)
	for _, m := range w.members {
		if w.Left.Transfers > 0 && m.up && !m.paused && m.soul.View != nil && (n.focus < 0 || n.focus == m.place) {
			all = append(all, action{kind: transfer, at: m.place})
		}
	}
	return e.faults(w, n, all)
}

// requests adds the users' possible calls. The user whose turn it is asks for any name, or delays; a user that delays
// acts at any later time.
func (e *engine) requests(w *world, n next, all []action) []action {
	for i := range w.Users {
		u := &w.Users[i]
		turn := n.what == userNext && n.user == i
		if !turn && (!u.Dawdles || n.focus >= 0 && n.focus != u.Member) || !w.ready(i) {
			continue
		}
		switch {
		case u.Phase == idle:
			for name := range uint8(e.config.Names) {
				if !turn || name != e.wants(w, i) {
					all = append(all, action{kind: begin, at: i, name: name})
				}
			}
		case !turn:
			all = append(all, action{kind: unlock, at: i})
		}
		if turn && w.Left.Dawdles > 0 {
			all = append(all, action{kind: dawdle, at: i})
		}
	}
	return all
}

// wants is the name that a user asks for by default: first its own, then those of the others.
func (e *engine) wants(w *world, i int) uint8 {
	return uint8((i + e.config.Calls - int(w.Users[i].Calls)) % e.config.Names)
}

// faults adds the possible faults.
func (e *engine) faults(w *world, n next, all []action) []action {
	left := &w.Left
	for _, m := range w.members {
		if !m.up || n.focus >= 0 && n.focus != m.place {
			continue
		}
		if left.Crashes > 0 {
			all = append(all, action{kind: crash, at: m.place})
			if w.writing(m) != nil {
				all = append(all, action{kind: crashKept, at: m.place})
			}
		}
		if left.Pauses > 0 && !m.paused {
			all = append(all, action{kind: pause, at: m.place})
		}
	}
	if n.what != packetNext || w.flying[0].saved != nil || !w.members[n.focus].up || w.members[n.focus].paused {
		return all
	}
	if left.Losses > 0 {
		all = append(all, action{kind: lose})
	}
	if left.Duplicates > 0 {
		all = append(all, action{kind: duplicate})
	}
	if left.Delays > 0 {
		all = append(all, action{kind: delay})
	}
	return all
}

// writing returns the write in progress on a member's disk, or nil.
func (w *world) writing(m *member) *saving {
	for _, packets := range [][]*packet{w.flying, m.inbox} {
		for _, p := range packets {
			if p.saved != nil && p.To == m.place {
				return p.saved
			}
		}
	}
	return nil
}

// healing returns the action that brings everything to rest without further faults: paused members wake, held packets
// arrive, members that are down start, holders unlock, and otherwise the default schedule continues. It is an index in
// all, or -1.
func (n next) healing(all []action) int {
	if n.focus < 0 {
		for _, k := range []kind{resume, arrive, restart, unlock} {
			if i := slices.IndexFunc(all, func(a action) bool { return a.kind == k }); i >= 0 {
				return i
			}
		}
	}
	return slices.IndexFunc(all, func(a action) bool { return a.kind == goOn })
}

// take returns the state after an action. A machine that panics breaks a promise; any other error ends the exploration.
func (e *engine) take(from *world, n next, a action) (*world, error) {
	e.broken = nil
	w := from.clone()
	err := e.alter(w, n, a)
	w.release()
	return w, err
}

// proceed takes an action, and then continues while only one action is possible and no time passes. It reports whether
// everything was answered on the way.
func (e *engine) proceed(from *world, n next, a action) (w *world, settled bool, err error) {
	e.broken = nil
	w = from.clone()
	defer w.release()
	for range longestWay {
		if err := e.alter(w, n, a); err != nil || e.broken != nil {
			return w, settled, err
		}
		settled = settled || w.settled()
		if n, a = e.upcoming(w), (action{kind: goOn}); !e.forced(w, n) {
			break
		}
	}
	return w, settled, nil
}

// longestWay limits the steps between two visited states: a cluster in which messages cause messages endlessly, while
// no time passes, is found as a cycle of states.
const longestWay = 1000

// forced reports whether only one action is possible in a state, and time stands still.
func (e *engine) forced(w *world, n next) bool {
	if n.focus < 0 || e.config.Unreduced {
		return false
	}
	e.all = e.actions(w, n, e.all)
	return len(e.all) == 1
}

// release completes a state: from now on it is shared, and does not change.
func (w *world) release() {
	for _, m := range w.members {
		if m.owned { // others are in use elsewhere
			m.owned = false
		}
	}
}

// alter applies an action to a state.
func (e *engine) alter(w *world, n next, a action) error {
	defer func() {
		if panicked := recover(); panicked != nil {
			e.out = protocol.Effects{}
			e.violate("panic", "%v\n%s", panicked, sim.MachineFrames(debug.Stack()))
		}
	}()
	if err := e.happen(w, n, a); err != nil {
		return err
	}
	e.judge(w)
	return nil
}

func (e *engine) happen(w *world, n next, a action) error {
	switch a.kind {
	case goOn:
		return e.goOn(w, n)
	case resume:
		e.resume(w, a.at)
	case restart:
		return e.restart(w, a.at)
	case arrive:
		p := w.held[a.at]
		w.held = slices.Delete(w.held, a.at, a.at+1)
		return e.deliver(w, p)
	case unlock:
		return e.unlocks(w, a.at)
	case begin:
		return e.begins(w, a.at, a.name)
	case dawdle:
		e.say("%s takes his time", w.who(a.at))
		w.Users[a.at].Dawdles = true
		w.Left.Dawdles--
	case transfer:
		e.say("an operator makes %s the authority", w.members[a.at].name)
		w.Left.Transfers--
		return e.act(w, a.at, call(operator, opOther, userSpace, &protocol.Transfer{To: w.members[a.at].id}))
	case crash, crashKept:
		return e.crash(w, a.at, a.kind == crashKept)
	case pause:
		e.say("%s is paused", w.members[a.at].name)
		w.replace(a.at).paused = true
		w.Left.Pauses--
	default:
		return e.misdeliver(w, a.kind)
	}
	return nil
}

// say writes a line of the trace, if there is one.
func (e *engine) say(format string, arguments ...any) {
	if e.trace != nil {
		e.trace(format, arguments...)
	}
}

// goOn performs the next step of the default schedule.
func (e *engine) goOn(w *world, n next) error {
	switch n.what {
	case packetNext:
		p := w.flying[0]
		w.flying = w.flying[1:]
		return e.deliver(w, p)
	case openNext:
		return e.opens(w, n.user)
	case userNext:
		if w.Users[n.user].Phase == holding {
			return e.unlocks(w, n.user)
		}
		return e.begins(w, n.user, e.wants(w, n.user))
	case tickNext:
		e.say("%s wakes", w.members[n.focus].name)
		return e.act(w, n.focus, protocol.Event{Kind: protocol.Tick})
	}
	w.now = e.earliest(w)
	return nil
}

// earliest is the earliest time at which a running member is due.
func (e *engine) earliest(w *world) time.Duration {
	at := protocol.Never
	for _, m := range w.members {
		if m.up && !m.paused {
			at = min(at, m.due(m.soul.Session.Wake(), e.config.Quantum))
		}
	}
	return at
}

// resume wakes a member, which first reads what has come meanwhile.
func (e *engine) resume(w *world, place int) {
	m := w.replace(place)
	e.say("%s goes on", m.name)
	w.flying = append(slices.Clone(m.inbox), w.flying...)
	m.paused, m.inbox = false, nil
}

// restart begins another life of a member. Beyond the budget there are no faults after it.
func (e *engine) restart(w *world, place int) error {
	m := w.replace(place)
	e.say("%s starts again", m.name)
	if w.Left.Restarts > 0 {
		w.Left.Restarts--
	} else {
		w.Left = budgets{}
	}
	return e.start(w, m)
}

// crash ends a member's process. Its messages stay in flight.
func (e *engine) crash(w *world, place int, kept bool) error {
	m := w.replace(place)
	writing := w.writing(m)
	mine := func(p *packet) bool { return p.saved != nil && p.To == place }
	w.flying = slices.DeleteFunc(w.flying, mine)
	m.up, m.paused, m.soul, m.inbox, m.formed = false, false, nil, nil, false
	w.end(place)
	w.Left.Crashes--
	switch {
	case kept:
		e.say("%s crashes, and has saved #%d", m.name, writing.ID)
		return e.sync(m, writing)
	case writing != nil:
		e.say("%s crashes, and has not saved #%d", m.name, writing.ID)
	default:
		e.say("%s crashes", m.name)
	}
	return nil
}

// misdeliver applies a network fault to the next packet.
func (e *engine) misdeliver(w *world, what kind) error {
	p := w.flying[0]
	w.flying = w.flying[1:]
	switch what {
	case lose:
		w.Left.Losses--
		e.say("%s to %s is lost", w.from(p), w.members[p.To].name)
	case delay:
		w.Left.Delays--
		w.held = append(w.held, p)
		e.say("%s to %s is delayed", w.from(p), w.members[p.To].name)
	case duplicate:
		w.Left.Duplicates--
		w.held = append(w.held, p)
		e.say("%s to %s is doubled", w.from(p), w.members[p.To].name)
		return e.deliver(w, p)
	default:
		return fmt.Errorf("explore: %d is no action", what)
	}
	return nil
}
