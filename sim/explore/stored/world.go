package stored

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// The configuration of the machines, and the values to choose from. Values in between add nothing: a write counts up to
// W less the skew, less drift, which is between 4 and 5 quanta.
const (
	quantum = time.Millisecond
	wait    = 8 * quantum
	skew    = 3 * quantum
	expiry  = 60 * quantum
	longest = 100 * expiry // within which a run must end
	wall    = 1 << 50      // µs, the reading of wall clocks when a run begins
)

// fate is the outcome of a slow request: the delay until it is executed, or never; the delay until the answer, or
// unsure at once.
type fate struct {
	done, answered time.Duration
	never, unsure  bool
}

// fates are the outcomes of writes; a read has those that are not unsure. The first is the default.
func fates() (all []fate, reads int) {
	for _, done := range []time.Duration{0, 4, 5, 6, 8, 11} {
		for _, answered := range []time.Duration{0, 5, 9} {
			all = append(all, fate{done: done * quantum, answered: answered * quantum})
		}
	}
	reads = len(all)
	for _, done := range []time.Duration{0, 8, 70} {
		all = append(all, fate{done: done * quantum, unsure: true})
	}
	return append(all, fate{never: true, unsure: true}), reads
}

// choice is a choice made, out of a number of options.
type choice struct{ value, of int }

// broken is a broken promise.
type broken struct{ promise, detail string }

// world is one run.
type world struct {
	config    *Config
	path      []int
	choices   []choice
	recording bool
	lines     []string
	steps     int

	now     time.Duration
	queue   []event // by time, and of one time in the order of scheduling
	store   *memory.Store
	watches map[string]map[int]bool
	members [2]*member
	left    int // number of requests that may still be slow
	crashes int // number of crashes left
	highest holdfast.Token
	broken  *broken
	fates   []fate
	reads   int
	stored  probe.Stored
	unsure  bool // the outcome of a write was unknown
}

type event struct {
	at time.Duration
	do func()
}

// member is one life of a process with one user.
type member struct {
	number   int
	life     int
	rid      string
	dead     bool
	machine  protocol.Machine
	out      protocol.Effects
	ahead    time.Duration // its wall clock
	lease    protocol.Lease
	calls    int // number of locks still to take
	underWay bool
	request  uint64
	token    holdfast.Token
	believes bool
	hold     time.Duration
	set      int           // which of its values its user knows to be set
	woken    time.Duration // the latest request to be woken
}

func play(c *Config, path []int) (*world, *broken) {
	w := &world{config: c, path: path}
	return w, w.run()
}

func tellingly(c *Config, path []int) (*world, *broken) {
	w := &world{config: c, path: path, recording: true}
	return w, w.run()
}

func (w *world) say(format string, arguments ...any) {
	if w.recording {
		w.lines = append(w.lines, fmt.Sprintf("%9v  ", w.now)+fmt.Sprintf(format, arguments...))
	}
}

// choose takes the choice of the path, and the first option where the path has ended.
func (w *world) choose(of int) int {
	value := 0
	if at := len(w.choices); at < len(w.path) {
		value = w.path[at]
	}
	w.choices = append(w.choices, choice{value, of})
	return value
}

func (w *world) chosen() (list []int) {
	for _, c := range w.choices {
		list = append(list, c.value)
	}
	return list
}

// violate records the first broken promise.
func (w *world) violate(promise, format string, arguments ...any) {
	if w.broken == nil {
		w.broken = &broken{promise, fmt.Sprintf(format, arguments...)}
	}
}

// at schedules a function.
func (w *world) at(when time.Duration, do func()) {
	i, _ := slices.BinarySearchFunc(w.queue, when, func(e event, when time.Duration) int {
		if e.at <= when {
			return -1
		}
		return 1
	})
	w.queue = slices.Insert(w.queue, i, event{when, do})
}

func (w *world) run() *broken {
	w.left, w.crashes = w.config.Slow, w.config.Crashes
	w.fates, w.reads = fates()
	w.watches = map[string]map[int]bool{}
	w.store = memory.New(memory.Config{Now: func() time.Time { return time.UnixMicro(wall + w.now.Microseconds()) }})
	apart := w.choose(w.config.starts()) - w.config.Spread
	ahead := w.choose(3)
	for i := range w.members {
		m := &member{number: i, life: 1, calls: w.config.Calls}
		if ahead == i+1 {
			m.ahead = skew
		}
		if w.begin(m); w.broken != nil {
			return w.broken
		}
	}
	const formed = quantum // until then no request is slow: the members agree on settings
	for i, m := range w.members {
		w.at(formed+quantum*time.Duration(max(0, apart*(1-2*i))), func() { w.acquire(m) })
	}
	for len(w.queue) > 0 && w.broken == nil {
		e := w.queue[0]
		w.queue = w.queue[1:]
		if w.now = max(w.now, e.at); w.now > longest {
			break
		}
		e.do()
		if w.over() {
			return w.broken
		}
	}
	if w.broken == nil {
		w.violate("P4", "not all that was asked for was granted and given back in %v", longest)
	}
	return w.broken
}

// over reports whether all users have had all their locks.
func (w *world) over() bool {
	for _, m := range w.members {
		if m.calls > 0 || m.request != 0 {
			return false
		}
	}
	return true
}

// begin starts a process, with a view.
func (w *world) begin(m *member) {
	rid := fmt.Sprintf("p%d", m.number+1)
	if m.life > 1 {
		rid += fmt.Sprintf(".%d", m.life)
	}
	setup := protocol.Setup{
		Self: protocol.ID(m.number + 1), Random: uint32(m.number + 2*(m.life-1)),
		Store: storage.Features{Name: "explored", Consistent: true, Swap: true, Durable: true, Watch: w.config.Watch},
	}
	options := option.Values{
		"wait": option.Format(wait), "skew": option.Format(skew), "expiry": option.Format(expiry), "retries": "2", "rid": rid, "group": "g",
		"cas": strconv.FormatBool(w.config.CAS),
	}
	if w.config.HoldOn > 0 {
		options["hold_on"] = option.Format(w.config.HoldOn)
	}
	m.rid = rid
	made, err := w.config.Protocol.Descriptor.Check(nil, options, &setup) // ranges are not checked: all times are short here
	if err == nil {
		w.stored = w.config.Protocol.Stored(made)
		m.machine, err = made.New(&setup)
	}
	if err != nil {
		w.violate("P4", "process %d does not start: %v", m.number+1, err)
		return
	}
	m.woken, m.lease = protocol.Never, protocol.Lease{Member: protocol.Never}
	w.members[m.number] = m
	w.step(m, protocol.Event{Kind: protocol.Start})
	view := &protocol.View{Number: 1, Installed: true, Open: true, Coordinator: 1, Lease: &m.lease}
	view.Epoch.Counter = 1
	for j := range w.members {
		view.Members = append(view.Members, protocol.Member{ID: protocol.ID(j + 1), Since: 1})
	}
	w.step(m, protocol.Event{Kind: protocol.Raised, Fact: view})
}

// step steps a machine with an event, unless its process is dead, or crashes before.
func (w *world) step(m *member, ev protocol.Event) {
	if !m.dead && !w.crash(m) {
		w.take(m, ev)
	}
}

// take steps a machine with an event, and performs the effects.
func (w *world) take(m *member, ev protocol.Event) {
	w.steps++
	m.machine.Step(w.now, ev, &m.out)
	out := m.out
	m.out = protocol.Effects{}
	for i := range out.Sends {
		if to := out.Sends[i].To; to == protocol.Storage {
			w.request(m, out.Sends[i].Message)
		}
	}
	for i := range out.Replies {
		w.hear(m, &out.Replies[i].Decision)
	}
	if wake := m.machine.Wake(); wake != m.woken {
		m.woken = wake
		if wake != protocol.Never {
			w.at(max(wake, w.now), func() {
				if m.woken == wake {
					m.woken = protocol.Never
					w.step(m, protocol.Event{Kind: protocol.Tick})
				}
			})
		}
	}
}

func (w *world) receive(m *member, fact any) {
	if m.dead {
		return
	}
	w.say("p%d hears %v", m.number+1, fact)
	w.step(m, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: fact})
}

// request executes a machine's request to the store at the chosen time.
func (w *world) request(m *member, request protocol.Message) {
	f := fate{}
	switch r := request.(type) {
	case storage.Clock:
		clocked := storage.Clocked{ID: r.ID, Time: wall + (w.now + m.ahead).Microseconds()}
		w.at(w.now, func() { w.receive(m, clocked) })
		return
	case storage.Watch:
		if w.watches[r.Key] == nil {
			w.watches[r.Key] = map[int]bool{}
		}
		w.watches[r.Key][m.number] = true
		w.at(w.now, func() { w.receive(m, storage.Changed(r)) })
		return
	case storage.Unwatch:
		delete(w.watches[r.Key], m.number)
		return
	case storage.Slice:
		f = w.fate(w.reads)
	default:
		f = w.fate(len(w.fates))
	}
	w.say("p%d asks %v %s", m.number+1, request, f)
	done := w.now + f.done
	switch {
	case f.never:
	case f.unsure:
		w.at(done, func() { w.do(request) })
	default:
		w.at(done, func() {
			answer := w.do(request)
			w.at(w.now+f.answered, func() { w.receive(m, answer) })
		})
	}
	if w.unsure = w.unsure || f.unsure; f.unsure {
		w.at(w.now, func() { w.receive(m, unsure(request)) })
	}
}

func (f fate) String() string {
	switch {
	case f.never:
		return "(unsure, never done)"
	case f.unsure:
		return fmt.Sprintf("(unsure, done after %v)", f.done)
	case f != fate{}:
		return fmt.Sprintf("(done after %v, answered after %v more)", f.done, f.answered)
	}
	return ""
}

// fate chooses the outcome of a request, while slow ones are left and users have started.
func (w *world) fate(among int) fate {
	if w.left == 0 || w.now == 0 {
		return fate{}
	}
	i := w.choose(among)
	if i > 0 {
		w.left--
	}
	return w.fates[i]
}

func unsure(request protocol.Message) any {
	switch r := request.(type) {
	case storage.Mutate:
		return storage.Mutated{ID: r.ID, Err: storage.ErrUnknown}
	case storage.Swap:
		return storage.Swapped{ID: r.ID, Err: storage.ErrUnknown}
	}
	return nil
}

// do executes a request, and checks what the row shows then.
func (w *world) do(request protocol.Message) any {
	defer w.checkValue()
	ctx := context.Background()
	switch r := request.(type) {
	case storage.Mutate:
		err := w.store.Mutate(ctx, &r)
		if len(r.Deletions) > 0 {
			w.changed(r.Key)
		}
		return storage.Mutated{ID: r.ID, Err: err}
	case storage.Slice:
		entries, err := w.store.Slice(ctx, &r)
		return storage.Sliced{ID: r.ID, Entries: entries, Err: err}
	case storage.Swap:
		swapped, err := w.store.Swap(ctx, &r)
		swapped.ID, swapped.Err = r.ID, err
		if swapped.Done && r.Notify {
			w.changed(r.Key)
		}
		return swapped
	}
	w.violate("P4", "the store is asked for %v", request)
	return nil
}

func (w *world) changed(key string) {
	for i, m := range w.members {
		if w.watches[key][i] {
			w.at(w.now, func() { w.receive(m, storage.Changed{Key: key}) })
		}
	}
}

// The user's name is "x"; sessions are the members'.

func (m *member) session() lock.SessionID {
	return lock.SessionID{Member: uint64(m.number + 1), Number: 1}
}

func (w *world) call(m *member, fact any) {
	w.step(m, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: uint64(w.steps + 1)}, Fact: fact})
}

// acquire makes a user ask for the lock. The user holds it for no time or for longer than W; the last lock for longer,
// so that a second holder would be seen.
func (w *world) acquire(m *member) {
	if m.dead {
		return
	}
	m.calls--
	m.underWay = true
	m.request = uint64(w.config.Calls - m.calls)
	m.hold = wait + 2*quantum
	if m.calls > 0 && w.choose(2) == 1 {
		m.hold = 0
	}
	w.say("user %d wants the lock, for %v", m.number+1, m.hold)
	q := &lock.Request{Session: m.session(), ID: m.request, Name: "x", Arrived: w.now, WaitEnd: lock.Never}
	if w.config.Values {
		q.Value = m.value(first)
	}
	w.call(m, q)
}

// hear takes the answer to a user.
func (w *world) hear(m *member, d *lock.Decision) {
	switch d.Kind {
	case lock.Refused:
		if d.Revision != 0 {
			return // its value: the lock was released before
		}
		w.violate("P4", "user %d is refused: %v", m.number+1, d.Err)
	case lock.Granted:
		w.granted(m, d)
	case lock.Released:
		w.gave(m)
	case lock.Amended:
		m.set = second
		w.checkValue()
	case lock.Lost, lock.Revoked:
		w.violate("P4", "user %d hears %v: %v%v", m.number+1, d.Kind, d.Err, d.Loss)
	}
}

func (w *world) granted(m *member, d *lock.Decision) {
	w.say("user %d has the lock, token %d", m.number+1, d.Token)
	if other := w.members[1-m.number]; other.believes {
		w.violate("P1", "user %d is granted the lock under token %d, while user %d holds it under token %d", m.number+1, d.Token, other.number+1, other.token)
	}
	if d.Token <= w.highest {
		w.violate("P2", "user %d is granted token %d, after token %d", m.number+1, d.Token, w.highest)
	}
	w.highest = max(w.highest, d.Token)
	m.believes, m.token, m.set = true, d.Token, first
	w.checkValue()
	if w.config.Values {
		w.amend(m)
	}
	w.at(w.now+m.hold, func() {
		if m.dead {
			return
		}
		m.believes = false
		w.say("user %d gives it back", m.number+1)
		w.call(m, &protocol.Release{Session: m.session(), Request: m.request, Name: "x", Token: m.token})
	})
}

// gave continues with the next lock, at once or a while later.
func (w *world) gave(m *member) {
	m.request, m.underWay = 0, false
	w.checkValue()
	if m.calls > 0 {
		m.request = 1 // it still wants a lock
		later := time.Duration(w.choose(2)) * 4 * quantum
		w.at(w.now+later, func() { w.acquire(m) })
	}
}
