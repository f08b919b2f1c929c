package sim

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// store is the key-column-value store that the members of a run share, if their protocol uses one (Protocol.Stores). It
// keeps exactly the guarantees of package storage: a request takes effect at one instant between its sending and its
// answer, which is drawn, and after an error its effect is unknown. A request takes effect even if its sender has
// crashed meanwhile. No partition cuts members off from it: a member would see that as an error of the store, which is
// a separate fault.
type store struct {
	world   *world
	table   table   // rows of Mutate
	swaps   table   // rows of Swap: a slice of the other kind does not show them
	slow    instant // end of the time in which requests take long
	forgets forgets
	failed  bool // a request has
	watches []watch
	ends    ends
}

// watch is a member's request for notices about a row.
type watch struct {
	key  string
	by   *process
	life uint32
	port protocol.Port
}

// inquiry is a request in flight to the store, and its outcome there.
type inquiry struct {
	by      *process
	life    uint32
	port    protocol.Port
	request protocol.Message
	answers time.Duration // latency of the answer
	after   time.Duration // StoreFail: the delay after which it is executed nevertheless
	fails   string        // the kind of failure, or ""
	eventID uint32        // its number in the timeline
	scope   scope
}

// The ways in which a request fails. In the first nothing is done, and the answer says so. In the others the answer is
// that the outcome is unknown: the request is not executed, executed, or executed later.
const (
	failRefused = "refused"
	failNever   = "never"
	failDone    = "done"
	failLater   = "later"
)

var (
	failures     = [...]string{failRefused, failNever, failDone, failLater}
	readFailures = failures[:2]
)

// newStore makes the store of a run. A seed determines the order of its writes.
func newStore(w *world) *store {
	w.within(theStore, "machine", 0)
	return &store{world: w, table: table{}, swaps: table{}, forgets: forgets(w.oneIn("forgets", 2))}
}

// theStore is the store's name.
const theStore = "store"

// keep takes a member's request to its storage.
func (w *world) keep(from *process, e *protocol.Envelope) {
	save, isSave := e.Message.(storage.Save)
	switch {
	case isSave:
		from.disk.save(save, e.Port)
	case storage.IsOfLog(e.Message) && w.protocol.Logs:
		from.journal.submit(errand{e.Port, e.Message})
	case storage.IsOfLog(e.Message):
		panic(fmt.Sprintf("sim: %s asks its journal (%v), and protocol %s says of no logs; its Protocol needs Logs", from, e.Message, w.protocol.Name))
	case w.store == nil:
		panic(fmt.Sprintf("sim: %s asks a store (%v), and protocol %s says of none; its Protocol needs Stores", from, e.Message, w.protocol.Name))
	default:
		w.store.submit(from, e.Port, e.Message)
	}
}

// submit takes a request from a member.
func (s *store) submit(m *process, port protocol.Port, request protocol.Message) {
	w := s.world
	if s.answersAtOnce(m, port, request) {
		return
	}
	w.tape.begin(m.toStore(), named(request))
	w.count.sent(port, request)
	if w.tracing {
		w.detail("%s asks the store: %v", m, request)
	}
	a := &inquiry{by: m, life: m.life, port: port, request: request, eventID: w.reporter.requested(m, request), scope: w.scope()}
	reaches := s.takes("reaches")
	a.answers = s.takes("answers")
	if s.slow > w.now {
		late, tardy := s.long("late"), s.long("tardy")
		if late+tardy > 0 {
			w.hit(StoreSlow)
		}
		reaches, a.answers = reaches+late, a.answers+tardy
	}
	if w.odds("fails", w.weather.storeFail) {
		s.fail(a)
	}
	w.do(w.now+reaches, func() { s.reached(a) })
}

// toStore is the actor of a request, like the link of a message.
func (m *process) toStore() string { return m.name + "→" + theStore }

// named is the name of the act of a request, and inquired that of an answer.
func named(request protocol.Message) string { return reflect.TypeOf(request).Name() }

func inquired(answer any) string {
	switch answer.(type) {
	case storage.Sliced:
		return "Slice"
	case storage.Swapped:
		return "Swap"
	case storage.Clocked:
		return "Clock"
	case storage.Changed:
		return "Changed"
	case storage.Attended:
		return "Attend"
	case storage.Awaited:
		return "Await"
	}
	return "Mutate"
}

// writes reports whether a request may change the store.
func writes(request protocol.Message) bool {
	switch request.(type) {
	case storage.Mutate, storage.Swap:
		return true
	}
	return false
}

// takes chooses the time of one way.
func (s *store) takes(site string) time.Duration {
	w := s.world
	return w.length(site, usualLatency, func() time.Duration { return w.rand.between(200*time.Microsecond, w.weather.store) })
}

// long chooses the extra time of one way at a slow store: none, a moment, or more than every timeout and lease. The
// default is none.
func (s *store) long(site string) time.Duration {
	w := s.world
	return w.length(site, 0, func() time.Duration {
		switch w.rand.IntN(4) {
		case 0:
			return w.rand.below(w.settings.lease / 2)
		case 1:
			return w.rand.below(5 * w.settings.lease)
		}
		return 0
	})
}

// fail chooses how a request fails.
func (s *store) fail(a *inquiry) {
	w := s.world
	w.hit(StoreFail)
	s.failed = true
	ways := failures[:]
	if !writes(a.request) {
		ways = readFailures
	}
	a.fails = ways[w.among("how", 0, ways)]
	if a.fails == failLater {
		a.after = w.between("after", 100*time.Millisecond, 5*w.settings.lease)
	}
}

// reached executes a request, or fails it, and answers.
func (s *store) reached(a *inquiry) {
	w := s.world
	w.goOn(a.scope)
	w.reporter.delivered(a.eventID)
	var answer protocol.Message
	switch request := a.request.(type) {
	case storage.Mutate:
		answer = storage.Mutated{ID: request.ID, Err: s.write(a, &request)}
	case storage.Slice:
		entries, err := s.read(a, &request)
		answer = storage.Sliced{ID: request.ID, Entries: entries, Err: err}
	case storage.Swap:
		answer = s.swap(a, &request)
	case storage.Clock:
		answer = storage.Clocked{ID: request.ID, Time: w.trueWall().Microseconds(), Err: s.failure(a)}
	default:
		panic(fmt.Sprintf("sim: %s sends %T to its storage, which takes what package storage lists", a.by, a.request))
	}
	if w.tracing {
		w.detail("the store answers %s: %v", a.by, answer)
	}
	t := task{kind: taskStored, to: a.by.place, life: a.life, port: uint16(a.port), fact: answer, id: uint64(a.scope.act)}
	t.eventID = w.reporter.responded(a, answer)
	w.at(w.now+a.answers, t)
}

// write executes a Mutate as far as it does not fail, and returns the error of its answer.
func (s *store) write(a *inquiry, m *storage.Mutate) error {
	if err := m.Check(); err != nil {
		return err
	}
	switch a.fails {
	case "", failDone:
		s.mutate(m)
	case failLater:
		s.world.do(s.world.now+a.after, func() { s.late(a, func() { s.mutate(m) }) })
	}
	return s.failure(a)
}

// swap executes a Swap as far as it does not fail. A late one also compares late.
func (s *store) swap(a *inquiry, r *storage.Swap) storage.Swapped {
	if err := r.Check(); err != nil {
		return storage.Swapped{ID: r.ID, Err: err}
	}
	done := storage.Swapped{ID: r.ID}
	switch a.fails {
	case "", failDone:
		done = s.swapNow(r)
	case failLater:
		s.world.do(s.world.now+a.after, func() { s.late(a, func() { s.swapNow(r) }) })
	}
	if err := s.failure(a); err != nil {
		return storage.Swapped{ID: r.ID, Err: err}
	}
	return done
}

func (s *store) swapNow(r *storage.Swap) storage.Swapped {
	done := s.swaps.swap(r, s.world.now)
	if done.Done && r.Notify {
		s.changed(r.Key)
	}
	s.world.checkRow(r.Key)
	return done
}

// read executes a Slice, if it does not fail.
func (s *store) read(a *inquiry, r *storage.Slice) ([]storage.Entry, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := s.failure(a); err != nil {
		return nil, err
	}
	return s.now(r), nil
}

// now returns what a request would read now.
func (s *store) now(r *storage.Slice) []storage.Entry {
	if r.Serial {
		return s.swaps.slice(r, s.world.now)
	}
	return s.table.slice(r, s.world.now)
}

// failure returns the error of a request's answer.
func (s *store) failure(a *inquiry) error {
	w := s.world
	if a.fails == "" {
		return nil
	}
	w.reporter.happened(StoreFail, 0, theStore, fmt.Sprintf("the store fails: %v of %s, %s", a.request, a.by, a.fails))
	if a.fails == failRefused {
		return storage.ErrRefused
	}
	return storage.ErrUnknown
}

// late executes a request that was answered with an error long ago.
func (s *store) late(a *inquiry, do func()) {
	w := s.world
	w.goOn(a.scope)
	w.detail("the store does late: %v of %s", a.request, a.by)
	w.reporter.happened(StoreFail, 0, theStore, fmt.Sprintf("the store does late: %v of %s", a.request, a.by))
	do()
}

// mutate executes a request. How early a column expires is drawn.
func (s *store) mutate(m *storage.Mutate) {
	w := s.world
	until := instant(0)
	if m.TTL > 0 {
		rounded := (m.TTL + time.Second - 1).Truncate(time.Second)
		until = w.now + rounded - w.below("early", time.Second)
	}
	s.table.mutate(m, w.now, until, s.forgets)
	if len(m.Deletions) > 0 {
		s.changed(m.Key)
	}
	w.checkRow(m.Key)
}

// answersAtOnce executes requests that take no time: reads of the machine's own wall clock, and requests without an
// answer.
func (s *store) answersAtOnce(m *process, port protocol.Port, request protocol.Message) bool {
	w := s.world
	switch request := request.(type) {
	case storage.Clock:
		if !request.Own {
			return false
		}
		w.count.sent(port, request)
		fact := storage.Clocked{ID: request.ID, Time: w.wallOf(m).Microseconds()}
		w.at(w.now, task{kind: taskStored, to: m.place, life: m.life, port: uint16(port), fact: fact, id: uint64(w.scope().act)})
	case storage.Watch:
		w.count.sent(port, request)
		s.watches = slices.DeleteFunc(s.watches, func(x watch) bool { return !x.by.up || x.life != x.by.life })
		x := watch{request.Key, m, m.life, port}
		was := w.scope()
		w.tape.begin(m.toStore(), "Watch")
		own := w.scope()
		w.do(w.now+s.takes("watched"), func() {
			w.goOn(own)
			s.watches = append(s.watches, x)
			s.say(x)
		})
		w.goOn(was)
	case storage.Unwatch:
		w.count.sent(port, request)
		s.watches = slices.DeleteFunc(s.watches, func(x watch) bool {
			return x.key == request.Key && x.by == m && x.life == m.life && x.port == port
		})
	case storage.Attend, storage.Await, storage.Unawait:
		w.count.sent(port, request)
		s.ends.asked(s, m, port, request)
	default:
		return false
	}
	return true
}

// changed notifies the watchers of a row, but sometimes skips one: no member may rely on notices.
func (s *store) changed(key string) {
	for _, x := range s.watches {
		if x.key == key && !s.world.odds("untold", s.world.weather.storeFail) {
			s.say(x)
		}
	}
}

func (s *store) say(x watch) {
	w := s.world
	t := task{kind: taskStored, to: x.by.place, life: x.life, port: uint16(x.port), fact: storage.Changed{Key: x.key}, id: uint64(w.scope().act)}
	w.at(w.now+s.takes("tells"), t)
}

// answered hands an answer to the member that made the request, if it still exists.
func (s *store) answered(t *task) {
	w := s.world
	m := w.members[t.to]
	if !m.up || m.life != t.life {
		w.reporter.lost(t.eventID, "the receiver is down")
		return
	}
	if m.paused {
		m.keep(*t)
		return
	}
	w.within(m.toStore(), inquired(t.fact), int(t.id))
	w.reporter.delivered(t.eventID)
	if w.tracing {
		w.detail("%s hears of the store: %v", m, t.fact)
	}
	w.nemesis.pounce(m)
	m.step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: protocol.Port(t.port), Fact: t.fact})
}

// delayStore makes the store slow for a while.
func (n *nemesis) delayStore() {
	w := n.world
	length := w.between("length", time.Second, 8*time.Second)
	w.store.slow = w.now + length
	w.befall(StoreSlow, w.store.slow, []string{theStore}, "the store is slow for %v", length)
}

// heal restores the store's normal speed. It is part of every core.
func (s *store) heal() {
	if s != nil {
		s.slow = 0
	}
}

// drawStore draws the properties of a run's store, from its own source of chance.
func (s *settings) drawStore(r dice) {
	s.weather.store = calm().store + r.below(20*time.Millisecond)
	if s.bias.Tight {
		s.weather.store = s.known.Wait
	}
	s.weather.storeFail = s.odds(r.Rand, StoreFail, 50, 2000)
}

// simulatedStore returns the features of a run's store.
func simulatedStore(ttl, watch, ends bool) storage.Features {
	return storage.Features{Name: "simulated", Consistent: true, Swap: true, Durable: true, Clock: true, TTL: ttl, Watch: watch, Ends: ends}
}
