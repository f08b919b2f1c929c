package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// nemesis lets faults happen: each kind again and again, in a rhythm of its own.
type nemesis struct {
	world   *world
	cutOff  map[int]instant // client·members + member: until when they cannot reach each other
	forgot  int             // how many cells were lost
	stalled bool            // the next latency is the longest
	lost    []*member       // those who are lost for good, until others have their addresses
	silent  protocol.Epoch  // the latest of whose beginning nobody may have heard (restless.go)
}

func newNemesis(w *world) nemesis { return nemesis{world: w, cutOff: map[int]instant{}} }

// begin schedules the first of each kind.
func (n *nemesis) begin() {
	if n.world.settings.faults == 1<<Crash && n.world.settings.once {
		n.crashOnce()
		return
	}
	for _, f := range n.world.settings.faults.All() {
		if act := n.deed(f); act != nil {
			n.again(f, act)
		}
	}
	w := n.world
	if w.settings.faults.Has(Delay) {
		for range 2 {
			w.do(w.between(w.settings.duration/10, w.settings.duration*9/10), func() { n.stalled = true })
		}
	}
	w.do(w.between(0, time.Second), n.disconnect)
	if w.settings.restless > 0 {
		n.stirAgain()
	}
}

// again schedules the next of a kind.
func (n *nemesis) again(f Fault, act func()) {
	w := n.world
	w.do(w.now+w.below(2*w.settings.every[f]), func() {
		if w.healed {
			return
		}
		act()
		n.again(f, act)
	})
}

// deed returns what lets a fault of the kind happen; nil where the weather does it, or
// another deed.
func (n *nemesis) deed(f Fault) func() {
	switch f {
	case Partition:
		return n.partition
	case OneWay:
		return n.oneWay
	case Crash:
		return n.crash
	case Pause, PauseBeyond:
		return func() { n.pause(f) }
	case Drift, DriftBeyond:
		return func() { n.driftAway(f) }
	case Step, SkewBeyond:
		return func() { n.step(f) }
	case Suspicion:
		return n.suspect
	case Join:
		return n.join
	case Leave:
		return n.leave
	case Operator:
		return n.operate
	case DiskSlow, DiskFull:
		return func() { n.spoil(f) }
	case Misfit:
		return n.misconfigure
	case Force:
		return n.lose
	case Drain:
		return n.drain
	case Shutdown:
		return n.shutdown
	}
	return nil
}

func (n *nemesis) member() *member { return pick(n.world.rand, n.world.members) }

// crash ends one process, or now and then that of the coordinator, of a client, or all
// at once; each comes back.
func (n *nemesis) crash() {
	w := n.world
	w.hit(Crash)
	switch w.rand.IntN(8) {
	case 0:
		for _, m := range w.members {
			n.kill(m)
		}
	case 1, 2:
		if m := w.coordinator(); m != nil {
			n.kill(m)
		}
	case 3, 4:
		c := pick(w.rand, w.clients)
		if w.rand.IntN(2) == 0 {
			c.close()
		}
		w.do(w.now+w.below(500*time.Millisecond), c.crash)
		w.do(w.now+w.between(time.Second, 5*time.Second), c.start)
	case 5, 6:
		n.member().ambush = true
	default:
		n.kill(n.member())
	}
}

// pounce kills a member that was waited for just after it has remembered something, and
// perhaps has said so: a promise, an acceptance, a horizon. It is back at once.
func (n *nemesis) pounce(m *member) {
	w := n.world
	if !m.ambush || w.healed {
		return
	}
	m.ambush = false
	life := m.life
	w.do(w.now+w.below(60*time.Millisecond), func() {
		if m.up && m.life == life {
			n.fell(m)
			w.do(w.now+w.between(5*time.Millisecond, 150*time.Millisecond), m.start)
		}
	})
}

// kill ends the process of a member and starts it again: at once, or when its absence
// was noticed long ago; with its cell or, where the run has that, without.
func (n *nemesis) kill(m *member) {
	w := n.world
	if !m.up {
		return
	}
	n.fell(m)
	down := w.between(20*time.Millisecond, time.Second)
	if w.rand.IntN(2) == 0 {
		down = w.below(4 * w.settings.lease)
	}
	w.do(w.now+down, m.start)
}

// fell ends the process of a member, and perhaps its memory.
func (n *nemesis) fell(m *member) {
	w := n.world
	forgets := n.forgets(m)
	m.crash(m.life)
	if forgets {
		w.hit(Amnesia)
		w.trace("%s has lost its cell", m)
		m.disk.forget()
	}
}

// forgets draws whether a member loses its cell now.
func (n *nemesis) forgets(m *member) bool {
	w := n.world
	switch {
	case !w.settings.faults.Has(Amnesia):
		return false
	case !m.kept:
		return true // it has none: every start is without memory
	case w.rand.IntN(3) != 0:
		return false
	case w.settings.memory == oneForgets && (n.forgot > 0 || !w.remembersWithout(m)):
		return false
	}
	n.forgot++
	return true
}

// remembersWithout reports whether the cells of the others are quorums of every view
// that anybody has: what a quorum of cells outlives is promised to be remembered, and
// in a view that has shrunk a single cell can be all of it (promises.md §5.5).
func (w *world) remembersWithout(m *member) bool {
	if m.view == nil || len(m.disk.queue) > 0 {
		return false
	}
	for _, other := range w.members {
		if other.view == nil {
			continue
		}
		voters, left := 0, 0
		for _, place := range other.view.Members {
			if place.Founder {
				voters++
				if place.ID != m.id {
					left++
				}
			}
		}
		if 2*left <= voters {
			return false
		}
	}
	return true
}

// pause stops a process while its clock runs on.
func (n *nemesis) pause(f Fault) {
	w := n.world
	w.hit(f)
	length := w.below(w.settings.lease)
	if w.rand.IntN(2) == 0 {
		length = w.below(4 * w.settings.lease)
	}
	if f == PauseBeyond {
		length *= 5
	}
	switch w.rand.IntN(4) {
	case 0:
		if m := w.coordinator(); m != nil {
			m.pause(length)
			return
		}
		fallthrough
	case 1:
		n.member().pause(length)
	default:
		pick(w.rand, w.clients).pause(length)
	}
}

// driftAway lets a clock run at another rate.
func (n *nemesis) driftAway(f Fault) {
	w := n.world
	w.hit(f)
	if w.rand.IntN(2) == 0 {
		m := n.member()
		m.clock.change(w.now, w.rate())
		if m.up && !m.paused {
			m.wakeAt = protocol.Never
			m.arm()
		}
		return
	}
	c := pick(w.rand, w.clients)
	c.clock.change(w.now, w.rate())
	c.wakeAt = protocol.Never
	c.arm()
}

// step sets a wall clock, forth or back.
func (n *nemesis) step(f Fault) {
	w := n.world
	w.hit(f)
	n.member().wall += w.between(-time.Hour, time.Hour)
}

// suspect spreads a rumour about a member, which may be wrong.
func (n *nemesis) suspect() {
	w := n.world
	about, to := n.member(), n.member()
	if !to.up || to.paused {
		return
	}
	hint := protocol.Hint{Address: about.address, Alive: w.rand.IntN(3) == 0}
	if hint.Alive != about.up {
		w.hit(Suspicion)
	}
	w.trace("%s hears that %s is alive: %v", to, about, hint.Alive)
	to.step(protocol.Event{Kind: protocol.Receive, From: protocol.Rumour, Port: protocol.Below, Fact: hint})
}

// join starts a member that is not there.
func (n *nemesis) join() {
	w := n.world
	for _, m := range w.members {
		if !m.up && m.left {
			w.hit(Join)
			m.start()
			return
		}
	}
}

// leave lets a member leave in good order, and come back later.
func (n *nemesis) leave() {
	w := n.world
	m := n.member()
	if w.rand.IntN(3) == 0 {
		if c := w.coordinator(); c != nil {
			m = c
		}
	}
	if !m.up || m.paused {
		return
	}
	w.hit(Leave)
	m.leave()
	w.do(w.now+w.between(6*time.Second, 20*time.Second), func() {
		if m.left && !m.up {
			w.hit(Join)
			m.start()
		}
	})
}

// operate breaks a lock, mostly in a bad moment.
func (n *nemesis) operate() {
	w := n.world
	m := n.member()
	if len(w.settings.names) == 0 || !m.up || m.paused {
		return
	}
	w.hit(Operator)
	if n.look(m); w.rand.IntN(2) == 0 {
		return
	}
	name := pick(w.rand, w.settings.names).name
	w.trace("an operator breaks %s through %s", name, m)
	m.ask(userSpace, &protocol.Break{Name: name, Reason: "because it can be done"})
}

// spoil makes a disk slow or full for a while.
func (n *nemesis) spoil(f Fault) {
	w := n.world
	d := &n.member().disk
	length := w.between(time.Second, 8*time.Second)
	if f == DiskFull {
		d.full = w.now + length
	} else {
		d.slow = w.now + length
	}
}
