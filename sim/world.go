package sim

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// world is one run: all processes, their connections, and the one source of chance.
type world struct {
	engine
	settings settings
	protocol *Protocol
	rand     dice  // for choices that no script has
	tape     *tape // nil if choices are neither recorded nor played
	weather  weather

	members    []*process
	clients    []*client
	visitors   []*visitor
	crowd      *crowd // nil if no client requests many names at once
	links      []*link
	spareLinks []link // not in use yet
	edge       serving
	frames     frames
	network    network
	nemesis    nemesis
	mover      mover
	store      *store // nil if the protocol uses none
	judge      *judge
	register   register
	tenures    map[tenancy]bool // in protocols without locks: tenures that could hold something (restless.go)
	count      *counts
	reporter   *reporter // nil without an observer
	steps      int
	compared   bool      // histories are compared with models
	page       io.Writer // for one of them; nil for none

	healed   bool    // no more faults
	healedAt instant // when healing began
	core     *core   // the healed members; nil if all are
	cores    Core
	meter    *meter    // nil while messages are not counted
	observer *observer // nil for none
	settling bool      // and no more new work
	until    instant   // when the run loses interest; 0 means never
	tracing  bool
	broken   breaks
	brief    bool // the trace leaves out the defaults
	writer   io.Writer
	records  func(member string) io.Writer           // nil if no member is recorded
	around   func(protocol.Machine) protocol.Machine // wraps a member's machine; nil does not
}

// newWorld sets up a run before its first event.
func newWorld(c *Config, seed uint64, trace io.Writer, count *counts) *world {
	r := newDice(seed, 0x686f6c6466617374)
	later := newDice(seed, 0x6c61746572)
	restless := newDice(seed, 0x726573746c657373)
	options, eager := newDice(seed, optionsStream), newDice(seed, eagerStream)
	w := &world{settings: draw(c, r.Rand, later.Rand, restless.Rand, options.Rand, eager.Rand, seed), protocol: &c.Protocol, rand: r, tracing: trace != nil, writer: trace, count: count, records: c.MemberTrace, around: c.around, cores: c.Core}
	if c.record {
		w.tape = newTape()
	}
	w.settings.drawValues(c, newDice(seed, valuesStream))
	w.settings.drawDeadlocks(c, newDice(seed, deadlockStream))
	if c.Protocol.Stores {
		w.settings.drawStore(newDice(seed, 0x73746f7265))
	}
	if c.Protocol.Logs {
		w.settings.drawLogs(c, newDice(seed, 0x6c6f6773))
		w.settings.mustKnow(&c.Protocol)
	}
	w.settings.drawMeddling(c, newDice(seed, 0x6d6564646c65))
	w.settings.drawHeirs(c, newDice(seed, 0x68656972))
	w.settings.drawCrossing(c, newDice(seed, 0x63726f))
	w.settings.drawBusy(newDice(seed, 0x62757379))
	w.settings.drawFar(c, newDice(seed, farStream))
	w.settings.drawBurst(c, newDice(seed, 0x63726f7764))
	w.settings.drawDeaf(c, newDice(seed, 0x64656166))
	w.settings.drawGathers(c, newDice(seed, 0x746f676574686572))
	w.settings.drawQuota(c, newDice(seed, quotaStream))
	w.settings.drawObserver(c, newDice(seed, observerStream))
	w.compared, w.page = c.Linearizable || seed%slice == 0, c.History
	w.stage()
	w.observed(c.Observe)
	return w
}

// observed adds an observer to a staged world.
func (w *world) observed(by func(timeline.Event)) {
	w.reporter = newReporter(w, by)
	w.judge.reporter = w.reporter
}

// stage makes all members and clients of the settings. None has started yet.
func (w *world) stage() {
	s := &w.settings
	w.weather, w.edge.config = s.weather, w.edgeConfig()
	w.judge = newJudge(func() instant { return w.now })
	w.judge.limits, w.judge.loose, w.judge.turns = limitsOf(s), w.protocol.Peers, w.protocol.LeaderProbe != nil
	if s.faults.Has(Any) {
		w.judge.sides = newSides(w)
	} else if w.compared {
		w.judge.histories = newHistories(w.judge)
	}
	if w.judge.sides == nil && s.known.HoldOn == 0 && s.known.KeepsCell == 0 && !w.protocol.Peers {
		w.judge.tenants, w.judge.lease = map[tenant]*having{}, s.lease
	}
	w.register = register{judge: w.judge, highest: map[string]holdfast.Token{}}
	w.network = newNetwork(w, s.members)
	w.mover = newMover(s.members)
	w.tenures = map[tenancy]bool{}
	for i := range s.members {
		m := &process{
			world: w, place: int32(i), name: string(rune('a' + i)), address: fmt.Sprintf("host-%c:4040", 'a'+i),
			founder: i < s.founders,
		}
		w.within(m.name, "machine", 0)
		m.kept = s.memory != forgetful || w.protocol.Logs || !w.oneIn("diskless", 4)
		m.disk.member, m.journal.member = m, m
		m.clock = w.dial()
		m.origin = m.clock.shown
		if s.faults.Has(Skew) {
			w.hit(Skew)
			m.wall = w.skew("wall")
		}
		w.members = append(w.members, m)
	}
	for i := range s.clients {
		w.addClient(fmt.Sprintf("client%d", i))
	}
	if s.heir {
		w.addHeir()
	}
	if s.crowd > 0 {
		w.addCrowd()
	}
	for i := range s.visitors {
		w.visitors = append(w.visitors, newVisitor(w, fmt.Sprintf("visitor%d", i)))
	}
	if s.founders < s.members {
		w.count.hits[hasGuests]++
	}
	w.nemesis = newNemesis(w)
	if w.protocol.Stores {
		w.store = newStore(w)
	}
	w.addObserver()
}

// addClient makes a client with its own clock and its own order of the members.
func (w *world) addClient(name string) *client {
	c := &client{world: w, number: int32(len(w.clients)), name: name}
	w.within(c.name, "machine", 0)
	c.ttl = w.anyTTL("ttl")
	c.clock = w.dial()
	c.origin = c.clock.shown
	for _, place := range w.order("places", w.names(w.settings.members), w.shuffled) {
		c.places = append(c.places, w.members[place])
	}
	w.clients = append(w.clients, c)
	return c
}

// names lists the names of the first n members.
func (w *world) names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = w.members[i].name
	}
	return names
}

// shuffled draws an order of the members.
func (w *world) shuffled() []int {
	order := make([]int, len(w.members))
	for i := range order {
		order[i] = i
	}
	w.rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// anyTTL chooses one of the clients' ttls; by default the first.
func (w *world) anyTTL(site string) time.Duration {
	return w.length(site, w.settings.ttl[0], func() time.Duration { return w.settings.ttl[w.rand.IntN(len(w.settings.ttl))] })
}

// skew chooses the error of a wall clock.
func (w *world) skew(site string) time.Duration {
	most := time.Hour
	if bound := w.settings.known.Skew; bound != 0 {
		// Claims are dated by wall clocks, any two of which must differ by less than the bound.
		most = bound / 2
		if w.settings.faults.Has(SkewBeyond) {
			most *= 20
		}
	}
	return w.length(site, 0, func() time.Duration {
		if w.settings.known.Skew != 0 && w.rand.IntN(2) == 0 {
			return most * time.Duration(2*w.rand.IntN(2)-1) // as far apart as allowed
		}
		return w.rand.between(-most, most)
	})
}

// dial makes a clock with a drawn reading, and a rate within the drift. The extremes are drawn more often than rates in
// between.
func (w *world) dial() dial {
	shown := w.below("clock", 1000*time.Second)
	return dial{shown: shown, rate: w.rate()}
}

// rate draws a rate: any two clocks differ by at most a factor 1+δ.
func (w *world) rate() int64 {
	most := int64(w.settings.drift * million)
	if w.settings.faults.Has(DriftBeyond) {
		most *= 4
	} else if !w.settings.faults.Has(Drift) {
		return million
	}
	drawn := func() int64 {
		switch w.rand.IntN(4) {
		case 0:
			return 0
		case 1:
			return most
		}
		return w.rand.Int64N(most + 1)
	}
	if w.tape != nil {
		return million + w.tape.number("fast", 0, most+1, drawn)
	}
	return million + drawn()
}

// run executes events until limit, or until a promise is broken.
func (w *world) run(limit instant) {
	if w.until > 0 {
		limit = min(limit, w.until)
	}
	var t task
	still, at := 0, w.now
	for w.judge.violation == nil && w.next(limit, &t) {
		switch {
		case w.now != at:
			still, at = 0, w.now
		case !t.kind.arrives():
			still++
		}
		w.goOn(scope{})
		if still > standstill {
			panic(fmt.Sprintf("sim: %d things happen at %v, and time does not pass; the last concerns %s", still, w.now, w.concerns(&t)))
		}
		if w.reporter == nil {
			w.happen(&t)
			continue
		}
		w.reporter.look()
		w.happen(&t)
		w.reporter.look()
	}
	if w.judge.violation == nil {
		w.now = max(w.now, limit)
		if w.reporter != nil {
			w.reporter.look() // ends by a clock precede the next reports of this instant
		}
	}
}

// over reports whether the run stops early without a violation.
func (w *world) over() bool { return w.until > 0 && w.now >= w.until && w.judge.violation == nil }

// standstill is the maximum number of events at one instant: more means that a machine asks to be woken again and
// again. Arrivals do not count.
const standstill = 10_000

// concerns names the receiver of a task.
func (w *world) concerns(t *task) string {
	switch t.kind {
	case taskMessage, taskSaved, taskTick, taskStored, taskSynced, taskFetched:
		m := w.members[t.to]
		text := fmt.Sprintf("%s, task %d, at %v of its clock; its sessions want to wake at %v, its membership at %v", m, t.kind, m.now(), protocol.FormatTime(m.sessions.Wake()), protocol.FormatTime(m.below.Wake()))
		for _, space := range m.spaces {
			text += fmt.Sprintf(", its space at %v", protocol.FormatTime(space.Wake()))
		}
		return text
	case taskWake:
		c := w.clients[t.to]
		return fmt.Sprintf("%s at %v of its clock, wake %v", c, c.now(), protocol.FormatTime(c.stream.wake()))
	}
	return fmt.Sprintf("task %d", t.kind)
}

func (w *world) happen(t *task) {
	switch t.kind {
	case taskAct:
		t.act()
	case taskMessage:
		w.deliver(t)
	case taskSaved:
		w.members[t.to].disk.saved(t)
	case taskTick:
		w.members[t.to].tick(t)
	case taskWake:
		w.clients[t.to].tick(t)
	case taskOperation, taskEvents:
		w.arrive(t)
	case taskBreak:
		w.learn(t)
	case taskLeave:
		w.members[t.to].letGo(t)
	case taskStored:
		w.store.answered(t)
	case taskSynced:
		w.members[t.to].journal.synced(t)
	case taskFetched:
		w.members[t.to].journal.fetched(t)
	}
}

// trace writes a line of the run, if it has a reader.
func (w *world) trace(format string, arguments ...any) {
	if !w.tracing {
		return
	}
	// An error of the trace's writer does not affect the run.
	_, _ = fmt.Fprintf(w.writer, "%12.6f  "+format+"\n", append([]any{w.now.Seconds()}, arguments...)...)
}

// detail writes a line for a frequent event: a brief trace has it only as part of an act that the script mentions.
func (w *world) detail(format string, arguments ...any) {
	if w.tracing && (!w.brief || w.tape != nil && !w.tape.silent) {
		w.trace(format, arguments...)
	}
}

// hit counts a fault that has happened.
func (w *world) hit(f Fault) { w.count.faults[f]++ }

// founders lists the addresses of the founders.
func (w *world) founders() []string {
	var all []string
	for _, m := range w.members[:w.settings.founders] {
		all = append(all, m.address)
	}
	return all
}

// wallOf is the reading of the wall clock of a member's machine.
func (w *world) wallOf(m *process) time.Duration {
	return w.trueWall() + m.wall
}

// trueWall is the right reading.
func (w *world) trueWall() time.Duration {
	return membership.Origin*time.Second + 1000*time.Hour + w.now
}

// exclusive returns a request for a name that excludes all others or, where every lock covers some entries, all others
// for its entry.
func (w *world) exclusive(name string) wantedLock {
	if capacity := w.settings.known.Capacity; capacity != 0 {
		return wantedLock{name: name, mode: holdfast.ModeSlots, units: 1, capacity: capacity}
	}
	return wantedLock{name: name}
}

// request draws a user's request: some workers name an owner.
func (w *world) request(who *worker) wantedLock {
	s := &w.settings
	n := pick(w, "name", s.names)
	want := wantedLock{name: n.name, mode: holdfast.ModeExclusive}
	if n.use != holdfast.ModeExclusive && (s.known.Capacity != 0 || !w.oneIn("exclusive", 3)) {
		want.mode = n.use
	}
	if want.mode == holdfast.ModeSlots {
		want.capacity = n.capacity
		want.units = 1
		if s.known.Capacity == 0 {
			want.units += w.number("more-units", n.capacity)
			if w.protocol.Peers && w.oneIn("other-capacity", 12) {
				want.capacity++ // peers refuse that, each by its own knowledge
			}
		}
	}
	switch patiences[w.among("waits", len(patiences)-1, patiences[:])] {
	case "not":
		want.try = true
	case "a-while":
		want.wait = w.between("wait", 10*time.Millisecond, 6*time.Second)
	}
	want.hold = w.length("limit", 0, func() time.Duration {
		if w.rand.IntN(6) != 0 {
			return 0
		}
		return w.rand.between(200*time.Millisecond, 4*time.Second)
	})
	if who != nil && w.oneIn("owner", 6) {
		want.owner = who.String()
	}
	if who != nil && w.odds("fails-in-a-deadlock", w.settings.willing) {
		want.deadlock = holdfast.Fail
	}
	return want
}

// patiences are the words for how long a user waits, each repeated by its odds.
var patiences = [...]string{"not", "a-while", "a-while", "for-ever", "for-ever", "for-ever", "for-ever", "for-ever"}

// hold chooses how long a lock is used: mostly briefly, sometimes far longer than a lease; by default it is released at
// once.
func (w *world) hold() time.Duration {
	return w.length("hold", 0, func() time.Duration {
		if w.settling || w.healed && w.rand.IntN(2) == 0 {
			return w.rand.below(20 * time.Millisecond)
		}
		if w.rand.IntN(12) == 0 {
			return w.rand.below(12 * time.Second)
		}
		return w.rand.below(2 * w.settings.holding)
	})
}

// patience chooses after what time a user gives up waiting; by default never, which is 0.
func (w *world) patience() time.Duration {
	return w.length("gives-up", 0, func() time.Duration {
		if !w.rand.odds(w.settings.impatient) {
			return 0
		}
		return max(1, w.rand.below(4*time.Second))
	})
}

// called returns the name of the member with that id.
func (w *world) called(id protocol.ID) string {
	if m := w.network.of[id]; m != nil {
		return m.name
	}
	return fmt.Sprint(id)
}

// listed lists the members of a view.
func (w *world) listed(v *protocol.View) string {
	var names []string
	for _, m := range v.Members {
		names = append(names, fmt.Sprintf("%s/%d:%d", m.Name, m.Tenure.Incarnation, m.Tenure.Lapses))
	}
	return strings.Join(names, " ")
}
