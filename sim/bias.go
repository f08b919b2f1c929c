package sim

import (
	"fmt"
	"strings"
	"time"
)

// Bias bends the settings that a run has drawn, so that what is rare happens soon: a caller that
// looks for what goes wrong without one rule knows which faults it needs. It draws
// nothing, so a run without a bias is what it was. Zero bends nothing.
type Bias struct {
	// AllFaults says that every run has all of Config.Faults, where it would draw its own half.
	AllFaults bool
	// Often says how many times as often faults come. Zero means 1.
	Often int
	// Crowd says that all users want one name, for as long as it takes, use it for a short
	// while, and want it again at once.
	Crowd bool
	// Late says how many of 10,000 messages are delayed, some of them for longer than any
	// patience. Zero means as many as are drawn.
	Late int
	// Strand lets coordinators leave in the worst moment, again and again: what one has
	// sent to some member in its last second is under way until another one grants.
	Strand bool
	// Keep says that users hold for up to twice as long as claims live.
	Keep bool
	// Tight says that each way to a shared store takes up to as long as claims are left alone
	// before they are checked.
	Tight bool
	// Far says that members are in the whole run as far from each other as they may be, where messages may be delayed.
	Far bool
}

// strandAgain lets the next coordinator leave like that.
func (n *nemesis) strandAgain() {
	w := n.world
	at := n.when(strands, w.now+n.strands.between(4*time.Second, 8*time.Second))
	s := w.scope()
	w.do(at, func() {
		if !w.healed {
			w.goOn(s)
			n.strand()
			n.strandAgain()
		}
	})
}

// strand holds up what the coordinator sends to a member, and lets it leave meanwhile. It
// draws from a source of its own, as a run without such a bias draws nothing for it.
func (n *nemesis) strand() {
	w := n.world
	length := func(site string, a, b time.Duration) time.Duration {
		return w.length(site, a, func() time.Duration { return n.strands.between(a, b) })
	}
	c := w.decider()
	to := w.members[n.stranded()]
	held := length("held-up", 1200*time.Millisecond, 3700*time.Millisecond)
	leaves := length("leaves", 800*time.Millisecond, 1300*time.Millisecond)
	if c == nil || c == to || c.paused {
		return
	}
	w.trace("what %s sends to %s is held up for %v", c, to, held)
	w.network.last[c.place][to.place] = w.now + held
	w.do(w.now+leaves, c.leave)
	w.do(w.now+7*time.Second, func() {
		if c.left && !c.up {
			c.start()
		}
	})
}

// stranded chooses who does not hear what the coordinator says.
func (n *nemesis) stranded() int {
	w := n.world
	drawn := func() int { return n.strands.IntN(len(w.members)) }
	if w.tape == nil {
		return drawn()
	}
	return w.tape.option("member", 0, len(w.members), func(i int) string { return w.members[i].name }, drawn)
}

// String says what is bent, for people.
func (b Bias) String() string {
	var all []string
	say := func(is bool, what string) {
		if is {
			all = append(all, what)
		}
	}
	say(b.AllFaults, "all faults")
	say(b.Often > 1, fmt.Sprintf("%d times as often", b.Often))
	say(b.Crowd, "all want one name")
	say(b.Late > 0, fmt.Sprintf("%d of 10,000 messages late", b.Late))
	say(b.Keep, "users hold for long")
	say(b.Tight, "the store is as slow as claims may be written")
	say(b.Far, "members are far from each other")
	say(b.Strand, "coordinators leave while their last messages are held up")
	return strings.Join(all, ", ")
}

// bend applies a bias to what was drawn.
func (s *settings) bend(b Bias) {
	if b.Often > 1 {
		//tidy:unordered each is divided by the same
		for f := range s.every {
			s.every[f] /= time.Duration(b.Often)
		}
	}
	if b.Crowd && len(s.names) > 0 {
		s.names = []lockName{{name: "n0"}}
		s.think, s.holding = 20*time.Millisecond, 200*time.Millisecond
		s.impatient, s.waiters, s.locksPerSession = 0, 0, 0
	}
	if b.Keep {
		s.holding = 2 * s.known.Expiry
	}
	s.bias = b
	if b.Late > 0 && s.faults.Has(Delay) {
		s.weather.delay = b.Late
	}
}
