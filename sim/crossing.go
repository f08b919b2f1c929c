package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Where the authority moves, operators break locks and resume the space during the move, through members that still
// follow the former authority. In a third of the runs with operators they do so among all faults, and each of their
// requests is executed at most once (P6). When a run has settled every such request is executed, through every member
// (P4).

// drawCrossing draws whether and how often operators do so, from its own source of chance.
func (s *settings) drawCrossing(c *Config, r dice) {
	drawn, every := r.IntN(3) == 0, 300*time.Millisecond+r.below(4*time.Second)
	if drawn && c.Protocol.Moves && s.faults.Has(Operator) {
		s.crosses = every
	}
}

// Rows of coverage for breaks during a change of authority.
var (
	crossedDone    = mark{"break across a transfer", "done"}
	crossedNothing = mark{"break across a transfer", "nothing to break"}
	crossedUnknown = mark{"break across a transfer", "unavailable"} // no authority has answered it
)

// cross lets an operator make a member the authority, and another operator break a lock, or resume the space, through a
// member that mostly has not heard of the change.
func (n *nemesis) cross() {
	w := n.world
	to, through := n.member("to"), n.member("through")
	name := lock.SpaceLock
	if len(w.settings.names) > 0 && w.butOneIn("breaks", 4) {
		name = pick(w, "name", w.settings.names).name
	}
	after := w.between("after", 0, 8*w.settings.weather.latency)
	to.transfer(to)
	w.do(w.now+after, func() {
		if w.healed || !through.up || through.paused {
			return
		}
		w.hit(Operator)
		w.befall(Operator, 0, []string{through.name}, "an operator breaks %q through %s while the authority moves", name, through)
		through.breakOnce(name, func(error) {})
	})
}

// breakOnce asks a member to break a lock, with a unique reason.
func (m *process) breakOnce(name string, then func(error)) {
	w := m.world
	w.broken.requested++
	reason := fmt.Sprintf("%s%d", crossingReason, w.broken.requested)
	m.ask(userSpace, &protocol.Break{Name: name, Reason: reason}, func(result any) {
		answer, is := result.(*protocol.Broken)
		if !is {
			return
		}
		w.trace("%s answers the operator about %q (%s): %v", m, name, reason, answer.Err)
		switch {
		case answer.Err == nil:
			w.count.hits[crossedDone]++
		case errors.Is(answer.Err, holdfast.ErrNotHeld):
			w.count.hits[crossedNothing]++
		default:
			w.count.hits[crossedUnknown]++
		}
		then(answer.Err)
	})
}

const crossingReason = "while the authority moves, "

// breaks records the requested and the executed breaks.
type breaks struct {
	requested int
	done      map[string]bool // by reason
}

// did records that a break was executed, and checks that none is executed twice.
func (w *world) did(m *process, note protocol.Broke) {
	var number int
	if n, err := fmt.Sscanf(note.Reason, crossingReason+"%d", &number); n != 1 || err != nil {
		return
	}
	if w.broken.done[note.Reason] {
		w.judge.violate("P6", "a break of %q acts twice, the second time at %s: %s", note.Name, m, note.Reason)
	}
	if w.broken.done == nil {
		w.broken.done = map[string]bool{}
	}
	w.broken.done[note.Reason] = true
}

// crossings is how often the authority is moved once a run has settled; before the second move every member has
// followed the first.
const crossings = 2

// checkCrossing moves the authority, and then asks for a break through every member: each is executed, though the
// members still follow the former authority.
func (w *world) checkCrossing() {
	if !w.protocol.Moves || w.judge.violation != nil || w.over() {
		return
	}
	for range crossings {
		to := w.other(w.decider())
		if to == nil {
			return
		}
		to.transfer(to)
		if w.run(w.now + 2*time.Second); w.decider() != to || w.over() {
			return // an operator's transfer may fail; other checks cover the space
		}
		open := 0
		for i, m := range w.members {
			if !m.up || !m.leased() {
				continue
			}
			open++
			m.breakOnce([]string{"crossing", lock.SpaceLock}[i%2], func(err error) {
				if open--; err != nil && !errors.Is(err, holdfast.ErrNotHeld) {
					w.judge.violate(liveness, "a break through %s, after a transfer to %s, is answered %v, though nothing is wrong", m, to, err)
				}
			})
		}
		if w.run(w.now + 10*time.Second); open > 0 && !w.over() {
			w.judge.violate(liveness, "%d breaks after a transfer to %s are not answered, though nothing is wrong", open, to)
		}
		if w.judge.violation != nil {
			return
		}
	}
}

// other is the first serving member except one.
func (w *world) other(one *process) *process {
	for _, m := range w.members {
		if m != one && m.leased() && !m.paused {
			return m
		}
	}
	return nil
}
