package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// nemesis makes faults happen: each kind repeatedly, at its own rate.
type nemesis struct {
	world   *world
	cutOff  map[int]instant // client·members + member: the end of the cut between them
	forgot  int             // how many cells were lost
	stalled bool            // the next latency is the longest
	lost    []*process      // members that are lost permanently, until others have their addresses
	silent  protocol.Epoch  // the latest epoch whose start no member may have heard of (restless.go)
	strands dice            // source of chance of a bias (bias.go)

	snatches bool // the next member that keeps something crashes (eager.go)
	reformed bool // operators have changed who votes (reforming.go)
}

func newNemesis(w *world) nemesis {
	return nemesis{world: w, cutOff: map[int]instant{}, strands: newDice(w.settings.seed, 0x737472616e64)}
}

// begin schedules the first act of each kind.
func (n *nemesis) begin() {
	w := n.world
	switch {
	case w.replaying():
		n.follow()
		return
	case n.justOne():
		n.crashOnce()
		return
	}
	deeds := n.deeds()
	for _, f := range w.settings.faults.All() {
		if deeds[f] != nil {
			n.again(f.String(), w.settings.every[f], deeds[f])
		}
	}
	if w.settings.faults.Has(Delay) {
		for range 2 {
			w.do(w.rand.between(w.settings.duration/10, w.settings.duration*9/10), func() { n.stalled = true })
		}
	}
	for _, a := range n.acts() {
		switch {
		case a.begins != nil:
			a.begins()
		case a.every > 0:
			n.again(a.name, a.every, a.do)
		case a.at > 0:
			n.once(a.name, a.at, a.do)
		}
	}
}

// justOne reports whether one crash of the coordinator is the only fault.
func (n *nemesis) justOne() bool {
	return n.world.settings.faults == 1<<Crash && n.world.settings.once
}

// again schedules the next act of a kind with an average interval.
func (n *nemesis) again(kind string, every time.Duration, act func()) {
	w := n.world
	at := n.when(kind, w.now+w.rand.below(2*every))
	s := w.scope()
	w.do(at, func() {
		if w.healed {
			return
		}
		w.goOn(s)
		act()
		n.again(kind, every, act)
	})
}

// once schedules an act of a kind that happens once in a run.
func (n *nemesis) once(kind string, at instant, act func()) {
	w := n.world
	at = n.when(kind, at)
	s := w.scope()
	w.do(at, func() {
		if !w.healed {
			w.goOn(s)
			act()
		}
	})
}

// act is an act of the nemesis that is not a fault by itself. In runs that draw it, it happens at an average interval,
// or once at a time, or begins schedules the first one.
type act struct {
	name   string
	do     func()
	every  time.Duration
	at     instant
	begins func()
}

// Acts that schedule themselves.
const (
	disconnects = "disconnect"
	rushes      = "rush"
	strikesKept = "snatch"
	strands     = "strand"
)

// acts lists all of them.
func (n *nemesis) acts() []act {
	s := &n.world.settings
	return []act{
		{name: disconnects, do: n.breakOne, begins: func() { n.disconnect(n.world.rand.between(0, time.Second)) }},
		{name: "stir", do: n.stirOne, every: s.restless},
		{name: rushes, do: n.rush, begins: func() {
			if s.eager > 0 {
				n.rushAgain(n.world.rand.below(2 * s.eager))
			}
		}},
		{name: strikesKept, do: n.snatch, begins: func() {
			if s.snatch > 0 {
				n.snatchAgain()
			}
		}},
		{name: "reform", do: n.reform, every: s.reforms},
		{name: "meddle", do: n.meddle, every: s.meddles},
		{name: "inherit", do: n.inherit, every: s.heirs},
		{name: "cross", do: n.cross, every: s.crosses},
		{name: "burst", do: n.burst, at: s.burst},
		{name: "deafen", do: n.deafen, at: s.deafens},
		{name: strands, do: n.strand, begins: func() {
			if s.bias.Strand {
				n.strandAgain()
			}
		}},
	}
}

// when begins the next act of a kind, and records its time.
func (n *nemesis) when(kind string, at instant) instant {
	if t := n.world.tape; t != nil {
		t.begin("", kind)
		t.keep(site{t.scope, due, 1}, lengthValue(at))
	}
	return at
}

// follow schedules the acts of a script.
func (n *nemesis) follow() {
	w := n.world
	schedule := func(kind string, act func()) {
		for _, at := range w.tape.due("", kind) {
			w.do(at.when, func() {
				if !w.healed {
					w.goOn(at.scope)
					act()
				}
			})
		}
	}
	for f, deed := range n.deeds() {
		if deed != nil {
			schedule(Fault(f).String(), deed)
		}
	}
	for _, a := range n.acts() {
		schedule(a.name, a.do)
	}
}

// deeds are the functions that cause faults; nil for faults of the weather, or of another function.
func (n *nemesis) deeds() [faultCount]func() {
	deeds := [faultCount]func(){
		Partition: n.partition, OneWay: n.oneWay, Crash: n.crash, Suspicion: n.suspect, Join: n.join, Leave: n.leave, Operator: n.operate,
		Misfit: n.misconfigure, Force: n.lose, Drain: n.drain, Shutdown: n.shutdown,
		Pause: func() { n.pause(Pause) }, PauseBeyond: func() { n.pause(PauseBeyond) },
		Drift: func() { n.driftAway(Drift) }, DriftBeyond: func() { n.driftAway(DriftBeyond) },
		Step: func() { n.step(Step) }, SkewBeyond: func() { n.step(SkewBeyond) },
		DiskSlow: func() { n.spoil(DiskSlow) }, DiskFull: func() { n.spoil(DiskFull) },
	}
	if n.justOne() {
		deeds[Crash] = n.crashCoordinator
	}
	if n.world.store != nil {
		deeds[StoreSlow] = n.delayStore
	}
	return deeds
}

// member chooses a member.
func (n *nemesis) member(site string) *process { return pick(n.world, site, n.world.members) }

// The words for the processes that a fault hits, each repeated by its odds.
var (
	crashes = [...]string{"all", "coordinator", "coordinator", "client", "client", "ambush", "ambush", "member"}
	pauses  = [...]string{"coordinator", "member", "client", "client"}
	drifts  = [...]string{"member", "client"}
)

// crash ends one process, or now and then that of the coordinator, of a client, or all at once; each comes back.
func (n *nemesis) crash() {
	w := n.world
	w.hit(Crash)
	s := w.scope()
	switch crashes[w.among("target", len(crashes)-1, crashes[:])] {
	case "all":
		for _, m := range w.members {
			n.kill(m)
		}
	case "coordinator":
		if m := w.coordinator(); m != nil {
			n.kill(m)
		}
	case "client":
		c := pick(w, "client", w.clients)
		if w.oneIn("closes", 2) {
			c.close()
			w.goOn(s)
		}
		w.do(w.now+w.below("after", 500*time.Millisecond), c.crash)
		w.do(w.now+w.between("back", time.Second, 5*time.Second), c.start)
	case "ambush":
		n.member("member").ambush = true
	default:
		n.kill(n.member("member"))
	}
}

// pounce kills a chosen member just after it has stored a promise, an acceptance or a horizon, and has perhaps sent it.
// The member is back at once.
func (n *nemesis) pounce(m *process) {
	w := n.world
	if !m.ambush || w.healed {
		return
	}
	m.ambush = false
	life := m.life
	w.within(m.name, "ambush", int(m.life))
	w.do(w.now+w.below("after", 60*time.Millisecond), func() {
		if m.up && m.life == life {
			n.fell(m)
			w.do(w.now+w.between("down", 5*time.Millisecond, 150*time.Millisecond), m.start)
		}
	})
}

// kill ends the process of a member and starts it again: at once, or long after its absence was noticed; with its cell
// or, in some runs, without.
func (n *nemesis) kill(m *process) {
	w := n.world
	if !m.up {
		return
	}
	n.fell(m)
	down := w.length("down", 20*time.Millisecond, func() time.Duration {
		down := w.rand.between(20*time.Millisecond, time.Second)
		if w.rand.IntN(2) == 0 {
			down = w.rand.below(4 * w.settings.lease)
		}
		return down
	})
	w.do(w.now+down, m.start)
}

// fell ends the process of a member, and perhaps destroys its cell.
func (n *nemesis) fell(m *process) {
	w := n.world
	w.within(m.name, "death", int(m.life))
	forgets := n.forgets(m)
	m.crash(m.life)
	w.within(m.name, "death", int(m.life))
	if forgets {
		w.hit(Amnesia)
		w.befall(Amnesia, 0, []string{m.name}, "%s has lost its cell", m)
		m.forget()
	}
}

// forgets draws whether a member loses its cell now.
func (n *nemesis) forgets(m *process) bool {
	w := n.world
	switch {
	case !w.settings.faults.Has(Amnesia):
		return false
	case !m.kept:
		return true // it has none: it starts without memory every time
	case !w.oneIn("forgets", 3):
		return false
	case w.settings.memory == oneForgets && (n.forgot > 0 || !w.remembersWithout(m)):
		return false
	}
	n.forgot++
	return true
}

// remembersWithout reports whether the cells of the others are quorums of every view that any member has: a promise is
// remembered if a quorum of cells survives, and in a view that has shrunk a single cell can be the whole quorum
// (docs/design/promises.md §5.5).
func (w *world) remembersWithout(m *process) bool {
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
	length := w.length("length", 0, func() time.Duration {
		length := w.rand.below(w.settings.lease)
		if w.rand.IntN(2) == 0 {
			length = w.rand.below(4 * w.settings.lease)
		}
		if f == PauseBeyond {
			length *= 5
		}
		return length
	})
	switch pauses[w.among("target", 1, pauses[:])] {
	case "coordinator":
		if m := w.coordinator(); m != nil {
			m.pause(length)
			return
		}
		fallthrough
	case "member":
		n.member("member").pause(length)
	default:
		pick(w, "client", w.clients).pause(length)
	}
}

// driftAway changes the rate of a clock.
func (n *nemesis) driftAway(f Fault) {
	w := n.world
	w.hit(f)
	if drifts[w.among("target", 0, drifts[:])] == "member" {
		m := n.member("member")
		m.clock.change(w.now, w.rate())
		w.reporter.happened(f, 0, m.name, "the clock of "+m.name+" runs at another rate")
		if m.up && !m.paused {
			m.wakeAt = protocol.Never
			m.arm()
		}
		return
	}
	c := pick(w, "client", w.clients)
	c.clock.change(w.now, w.rate())
	w.reporter.happened(f, 0, c.name, "the clock of "+c.name+" runs at another rate")
	c.wakeAt = protocol.Never
	c.arm()
}

// step sets a wall clock forward or back.
func (n *nemesis) step(f Fault) {
	w := n.world
	w.hit(f)
	m := n.member("member")
	if by := w.skew("by"); w.protocol.Stores {
		m.wall = by // and it stays within the bounds
	} else {
		m.wall += by
	}
	w.reporter.happened(f, 0, m.name, "the wall clock of "+m.name+" is set")
}

// suspect spreads a suspicion of a member, which may be wrong.
func (n *nemesis) suspect() {
	w := n.world
	about, to := n.member("about"), n.member("to")
	if !to.up || to.paused {
		return
	}
	hint := protocol.Hint{Address: about.address, Alive: w.oneIn("alive", 3)}
	if hint.Alive != about.up {
		w.hit(Suspicion)
	}
	w.befall(Suspicion, 0, []string{to.name}, "%s hears that %s is alive: %v", to, about, hint.Alive)
	to.step(protocol.Event{Kind: protocol.Receive, From: protocol.Rumour, Port: protocol.Below, Fact: hint})
}

// join starts a member that is not running.
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
	m := n.memberOrCoordinator()
	if !m.up || m.paused {
		return
	}
	w.hit(Leave)
	s := w.scope()
	m.leave()
	w.goOn(s)
	w.do(w.now+w.between("back", 6*time.Second, 20*time.Second), func() {
		if m.left && !m.up {
			w.hit(Join)
			m.start()
		}
	})
}

// operate breaks a lock, mostly at a bad moment.
func (n *nemesis) operate() {
	w := n.world
	m := n.member("member")
	if len(w.settings.names) == 0 || !m.up || m.paused {
		return
	}
	if w.protocol.Moves && w.butOneIn("transfers", 3) {
		if w.oneIn("closes", 3) {
			n.closeSpace(m)
			return
		}
		n.handOver()
		return
	}
	w.hit(Operator)
	s := w.scope()
	n.look(m)
	if w.goOn(s); !w.butOneIn("breaks", 2) {
		return
	}
	name := pick(w, "name", w.settings.names).name
	w.befall(Operator, 0, []string{m.name}, "an operator breaks %s through %s", name, m)
	m.query(userSpace, &protocol.Break{Name: name, Reason: "because it can be done"})
}

// spoil makes a disk slow or full for a while.
func (n *nemesis) spoil(f Fault) {
	w := n.world
	d := &n.member("member").disk
	length := w.between("length", time.Second, 8*time.Second)
	w.reporter.spoilt(f, d.member.name, w.now+length)
	if f == DiskFull {
		d.full = w.now + length
	} else {
		d.slow = w.now + length
	}
}
