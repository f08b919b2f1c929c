package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// mostSuccessors is the maximum number of members that are made the authority at once.
const mostSuccessors = 4

// handOver makes operators move the space's authority to several members at once: each takes the table from the one
// before. Often one of the participants crashes meanwhile.
func (n *nemesis) handOver() {
	w := n.world
	s := w.scope()
	step := w.settings.weather.latency + time.Millisecond
	successors := make([]*process, 1+w.number("turks", mostSuccessors))
	for i := range successors {
		w.goOn(s)
		successors[i] = n.member("to")
		through := n.member("through")
		to := successors[i]
		w.do(w.now+w.below("asked", 4*step), func() { through.transfer(to) })
	}
	w.goOn(s)
	if !w.settings.faults.Has(Crash) || !w.oneIn("strikes", 2) {
		return
	}
	victim := n.victim(successors)
	w.do(w.now+w.below("strikes-after", 16*step), func() {
		w.goOn(s)
		w.hit(Crash)
		n.kill(victim)
	})
}

var victims = [...]string{"elder", "turk", "member"}

// victim is a participant of a transfer, or another member.
func (n *nemesis) victim(successors []*process) *process {
	w := n.world
	switch victims[w.among("victim", len(victims)-1, victims[:])] {
	case "elder":
		if m := w.coordinator(); m != nil {
			return m
		}
	case "turk":
		return successors[0]
	}
	return n.member("victim-is")
}

// transfer makes an operator ask a member to make another one the authority.
func (m *process) transfer(to *process) {
	if !m.up || m.paused {
		return
	}
	w := m.world
	w.hit(Operator)
	w.befall(Operator, 0, []string{m.name}, "an operator makes %s the authority through %s", to, m)
	m.ask(userSpace, &protocol.Transfer{To: to.id}, func(result any) {
		if answer, is := result.(*protocol.Transferred); is {
			w.trace("%s answers the operator about %s: %v", m, to, answer.Err)
		}
	})
}

// closeSpace makes an operator close the space at a member, and open it again later.
func (n *nemesis) closeSpace(m *process) {
	w := n.world
	w.hit(Operator)
	w.befall(Operator, 0, []string{m.name}, "an operator closes the space on %s", m)
	m.instance(&protocol.CloseSpace{})
	life := m.life
	w.do(w.now+w.between("opens", 10*time.Millisecond, 6*time.Second), func() {
		if m.life == life {
			w.trace("an operator opens the space on %s", m)
			m.instance(&protocol.OpenSpace{})
		}
	})
}

// instance asks a member to close or to open the space. A paused member gets the request when it wakes.
func (m *process) instance(fact any) {
	if !m.up {
		return
	}
	w := m.world
	if m.paused {
		life := m.life
		w.do(w.now+50*time.Millisecond, func() {
			if m.life == life {
				m.instance(fact)
			}
		})
		return
	}
	m.ask(userSpace, fact, func(result any) {
		if answer, is := result.(*protocol.SpaceOpen); is {
			w.trace("%s answers the operator: open=%v %v", m, answer.Open, answer.Err)
		}
	})
}
