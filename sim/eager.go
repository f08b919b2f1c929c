package sim

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Where the authority moves, a third of the runs with operators are eager. Again and again several members are made the
// authority at once, each through itself, so that a table passes through all of them. In two thirds of those, now and
// then the sender or the receiver of a transfer's message crashes while the message is in flight. Where leaders number
// tickets, in two ninths of the runs with crashes now and then a leader that hands tickets over or takes them crashes.
// In a third of the runs whose members keep released grants, some members that keep something crash.

// eagerStream is mixed with the seed to draw whether a run is eager.
const eagerStream = 0x6561676572000072

// drawEager draws whether a run is eager, and how.
func (s *settings) drawEager(c *Config, r *rand.Rand) {
	eager, strikes, snatches := r.IntN(3) == 0, r.IntN(3) != 0, r.IntN(3) == 0
	every := func() time.Duration { return time.Second + time.Duration(r.Int64N(int64(5*time.Second))) }
	if c.Protocol.Moves && s.faults.Has(Operator) && eager {
		s.eager, s.strikes = every(), strikes && s.faults.Has(Crash)
	}
	if c.Protocol.LeaderProbe != nil && s.faults.Has(Crash) && eager {
		s.strikes = strikes
	}
	if s.known.HoldOn > 0 && s.faults.Has(Crash) && snatches {
		s.snatch = 3 * every()
	}
}

// rushAgain makes several members the authority at once after a while, repeatedly. While no member decides it waits:
// only a member that decides has a table.
func (n *nemesis) rushAgain(after time.Duration) {
	w := n.world
	w.do(w.now+after, func() {
		switch {
		case w.healed:
		case w.decider() == nil:
			n.rushAgain(w.settings.lease / 10)
		default:
			n.when(rushes, w.now)
			n.rush()
			n.rushAgain(w.rand.below(2 * w.settings.eager))
		}
	})
}

// rush makes some members the authority at once, each through itself: of those that can become it.
func (n *nemesis) rush() {
	w := n.world
	s := w.scope()
	decider, successors := w.decider(), mostSuccessors
	if w.oneIn("fewer", 3) {
		successors = 2 + w.number("more", mostSuccessors-2)
	}
	for _, place := range w.order("order", w.names(len(w.members)), w.shuffled) {
		successor := w.members[place]
		if successors == 0 || successor == decider || !successor.leased() || successor.paused {
			continue
		}
		successors--
		w.goOn(s)
		w.do(w.now+w.below("asked", time.Millisecond), func() { successor.transfer(successor) })
	}
}

// interrupt is called when a message of a transfer is sent. Its sender or receiver may crash while it is in flight.
func (n *nemesis) interrupt(step probe.TransferStep, from, to *process) {
	often := 16
	switch {
	case step >= probe.StepTable: // these are rare
		often = 2
	case step >= probe.StepDepose:
		often = 6
	}
	n.strikeEither(often, from, to)
}

// strikeEither crashes one of two members soon, once in often times.
func (n *nemesis) strikeEither(often int, from, to *process) {
	w := n.world
	if w.healed || !w.settings.strikes && !w.replaying() || !w.oneIn("struck", often) {
		return
	}
	victim := to
	if w.oneIn("sender", 2) {
		victim = from
	}
	n.strike(victim, w.below("struck-after", w.settings.weather.latency/2))
}

// snatchAgain crashes the next member that keeps something after a while, repeatedly.
func (n *nemesis) snatchAgain() {
	n.world.do(n.world.now+n.world.rand.below(2*n.world.settings.snatch), func() { n.snatches = true })
}

// kept is called when a member may keep something.
func (n *nemesis) kept(m *process) {
	w := n.world
	if !n.snatches || w.healed || m.unused() == 0 {
		return
	}
	n.snatches = false
	w.do(w.now+1, func() {
		n.when(strikesKept, w.now)
		n.snatch()
		n.snatchAgain()
	})
}

// snatch crashes one of the members that keep something.
func (n *nemesis) snatch() {
	if keepers := n.keepers(); len(keepers) > 0 {
		n.strike(pick(n.world, "member", keepers), 0)
	}
}

// keepers are the members that keep something.
func (n *nemesis) keepers() (all []*process) {
	for _, m := range n.world.members {
		if m.unused() > 0 {
			all = append(all, m)
		}
	}
	return all
}

// strike crashes a member soon.
func (n *nemesis) strike(victim *process, after time.Duration) {
	w := n.world
	life := victim.life
	w.do(w.now+after, func() {
		if victim.life == life && !w.healed {
			w.hit(Crash)
			n.kill(victim)
		}
	})
}
