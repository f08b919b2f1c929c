package sim

import (
	"fmt"
	"strings"
	"time"
)

// Bias bends the drawn settings of a run so that rare events happen soon. A caller that checks the code without one
// rule knows which faults it needs. Bias draws nothing, so the rest of the run is as without it. The zero value bends
// nothing.
type Bias struct {
	// AllFaults gives every run all of Config.Faults, instead of half of them at random.
	AllFaults bool
	// Often multiplies the rate of faults. Zero means 1.
	Often int
	// Crowd makes all users contend for one name: they wait without limit, use it briefly, and ask again at once.
	Crowd bool
	// Late is how many of 10,000 messages are delayed, some of them beyond any timeout. Zero keeps the drawn number.
	Late int
	// Strand lets coordinators leave at the worst moment, repeatedly: the messages of a coordinator's last second to
	// some member are in flight until another coordinator grants.
	Strand bool
	// Keep lets users hold names for up to twice the life of a claim.
	Keep bool
	// Tight lets each way to a shared store take up to the time after which claims are checked.
	Tight bool
	// Far keeps members as far apart as allowed in the whole run, if messages may be delayed.
	Far bool
	// Values lets holders set values in every run, and often.
	Values bool
	// Observers lets a name be observed in every run.
	Observers bool
	// Deadlocks lets most users ask to be refused rather than wait in a cycle of waits, if the protocol offers that.
	Deadlocks bool
}

// strandAgain lets the next coordinator leave in the same way.
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

// strand delays the coordinator's messages to one member, and lets the coordinator leave meanwhile. It draws from its
// own source of chance, so that runs without this bias draw the same values as before.
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

// stranded chooses the member that does not hear the coordinator.
func (n *nemesis) stranded() int {
	w := n.world
	drawn := func() int { return n.strands.IntN(len(w.members)) }
	if w.tape == nil {
		return drawn()
	}
	return w.tape.option("member", 0, len(w.members), func(i int) string { return w.members[i].name }, drawn)
}

// String describes the bias for people.
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
		//tidy:unordered all are divided by the same number
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
