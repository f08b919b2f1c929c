package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// world is one run: all processes, what lies between them, and the one source of
// chance.
type world struct {
	engine
	settings settings
	protocol *Protocol
	rand     *rand.Rand
	weather  weather

	members  []*member
	clients  []*client
	scripts  []*script
	links    []*link
	network  network
	nemesis  nemesis
	judge    *judge
	register register
	seated   map[seat]bool // tenures that could hold something, where nothing is granted (restless.go)
	count    *counts
	steps    int

	healed   bool // no more faults
	settling bool // and no more new work
	tracing  bool
	writer   io.Writer
}

// newWorld sets the stage: nothing has happened yet.
func newWorld(c *Config, seed uint64, trace io.Writer, count *counts) *world {
	r := rand.New(rand.NewPCG(seed, 0x686f6c6466617374))
	later := rand.New(rand.NewPCG(seed, 0x6c61746572))
	restless := rand.New(rand.NewPCG(seed, 0x726573746c657373))
	w := &world{settings: draw(c, r, later, restless, seed), protocol: &c.Protocol, rand: r, tracing: trace != nil, writer: trace, count: count}
	s := &w.settings
	w.weather = s.weather
	w.judge = newJudge(func() instant { return w.now })
	w.judge.limits = limitsOf(s)
	if s.faults.Has(Any) {
		w.judge.sides = newSides(w)
	}
	w.register = register{judge: w.judge, highest: map[string]holdfast.Token{}}
	w.network = newNetwork(w, s.members)
	w.seated = map[seat]bool{}
	for i := range s.members {
		m := &member{
			world: w, place: int32(i), name: string(rune('a' + i)), address: fmt.Sprintf("host-%c:4040", 'a'+i),
			founder: i < s.founders, kept: s.memory != forgetful || w.rand.IntN(4) != 0,
		}
		m.disk.member = m
		m.clock = w.dial()
		if s.faults.Has(Skew) {
			w.hit(Skew)
			m.wall = w.between(-time.Hour, time.Hour)
		}
		w.members = append(w.members, m)
	}
	for i := range s.clients {
		c := &client{world: w, number: int32(i), name: fmt.Sprintf("client%d", i), ttl: pick(w.rand, s.ttl)}
		c.clock = w.dial()
		c.places = append(c.places, w.members...)
		w.rand.Shuffle(len(c.places), func(i, j int) { c.places[i], c.places[j] = c.places[j], c.places[i] })
		w.clients = append(w.clients, c)
	}
	for i := range s.scripts {
		w.scripts = append(w.scripts, newScript(w, fmt.Sprintf("script%d", i)))
	}
	if s.founders < s.members {
		w.count.guests++
	}
	w.nemesis = newNemesis(w)
	return w
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// dial makes a clock that shows something, and runs at a rate within the drift. The
// extremes are drawn more often than what lies between.
func (w *world) dial() dial {
	return dial{shown: w.below(1000 * time.Second), rate: w.rate()}
}

// rate draws a rate: any two clocks differ by at most a factor 1+δ.
func (w *world) rate() int64 {
	most := int64(w.settings.drift * million)
	if w.settings.faults.Has(DriftBeyond) {
		most *= 4
	} else if !w.settings.faults.Has(Drift) {
		return million
	}
	switch w.rand.IntN(4) {
	case 0:
		return million
	case 1:
		return million + most
	}
	return million + w.rand.Int64N(most+1)
}

// odds reports whether something that happens n times of 10,000 happens now.
func (w *world) odds(n int) bool { return n > 0 && w.rand.IntN(10_000) < n }

// below draws a duration below d.
func (w *world) below(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(w.rand.Int64N(int64(d)))
}

// between draws a duration of at least a and below b.
func (w *world) between(a, b time.Duration) time.Duration { return a + w.below(b-a) }

// run lets everything happen until limit, or until a promise is broken.
func (w *world) run(limit instant) {
	var t task
	still, at := 0, w.now
	for w.judge.violation == nil && w.next(limit, &t) {
		if still++; w.now != at {
			still, at = 0, w.now
		}
		if still > standstill {
			panic(fmt.Sprintf("sim: %d things happen at %v, and time does not pass; the last concerns %s", still, w.now, w.concerns(&t)))
		}
		w.happen(&t)
	}
	if w.judge.violation == nil {
		w.now = max(w.now, limit)
	}
}

// standstill is how many things may happen in one instant: more is a machine that asks
// to be woken again and again.
const standstill = 10_000

// concerns names whom a task is for.
func (w *world) concerns(t *task) string {
	switch t.kind {
	case taskMessage, taskSaved, taskTick:
		m := w.members[t.to]
		text := fmt.Sprintf("%s, task %d, at %v of its clock; its desk wants to wake at %v, its membership at %v", m, t.kind, m.now(), m.desk.Wake(), m.below.Wake())
		for _, space := range m.spaces {
			text += fmt.Sprintf(", its space at %v", space.Wake())
		}
		return text
	case taskWake:
		c := w.clients[t.to]
		return fmt.Sprintf("%s at %v of its clock, wake %v", c, c.now(), c.stream.wake())
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
	}
}

// trace writes a line of the run, if somebody reads it.
func (w *world) trace(format string, arguments ...any) {
	if !w.tracing {
		return
	}
	// A trace that cannot be written is missed by whoever reads it, not by the run.
	_, _ = fmt.Fprintf(w.writer, "%12.6f  "+format+"\n", append([]any{w.now.Seconds()}, arguments...)...)
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

// wallOf is what the wall clock of a member's machine shows.
func (w *world) wallOf(m *member) time.Duration {
	return membership.Origin*time.Second + 1000*time.Hour + w.now + m.wall
}

// wish draws what a user wants: of workers, some name an owner.
func (w *world) wish(who *worker) wish {
	s := &w.settings
	n := pick(w.rand, s.names)
	want := wish{name: n.name, mode: holdfast.ModeExclusive}
	if n.use != holdfast.ModeExclusive && w.rand.IntN(3) != 0 {
		want.mode = n.use
	}
	if want.mode == holdfast.ModeSlots {
		want.capacity = n.capacity
		want.units = 1 + w.rand.IntN(n.capacity)
	}
	switch w.rand.IntN(8) {
	case 0:
		want.try = true
	case 1, 2:
		want.wait = w.between(10*time.Millisecond, 6*time.Second)
	}
	if w.rand.IntN(6) == 0 {
		want.hold = w.between(200*time.Millisecond, 4*time.Second)
	}
	if who != nil && w.rand.IntN(6) == 0 {
		want.owner = who.String()
	}
	return want
}

// hold draws how long a lock is used: mostly shortly, now and then far longer than a
// lease.
func (w *world) hold() time.Duration {
	if w.settling || w.healed && w.rand.IntN(2) == 0 {
		return w.below(20 * time.Millisecond)
	}
	if w.rand.IntN(12) == 0 {
		return w.below(12 * time.Second)
	}
	return w.below(2 * w.settings.holding)
}

// called returns the name of the member with that id.
func (w *world) called(id protocol.ID) string {
	if at, known := w.network.id[id]; known {
		return w.members[at].name
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

// until is a time that may not come, for people.
func until(t time.Duration) string {
	if t == protocol.Never {
		return "never"
	}
	return t.String()
}
