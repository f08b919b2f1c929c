package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// process is a machine with an address, on which a member's process runs: at most one at a time, as the listening
// socket ensures. The production code begins at the session machine; the code around it stands for package run, the
// disk, the journal and the operating system.
type process struct {
	world   *world
	place   int32
	name    string
	address string
	founder bool
	kept    bool // it has a stable cell
	forgot  bool // it has lost a cell: it may not know what it once wrote, and reported to the others
	disk    disk
	journal journal
	clock   dial          // of the machine: it outlives the process
	origin  time.Duration // what the clock showed when the run began
	wall    time.Duration

	// The present life of the process.
	up              bool
	life            uint32
	servesElsewhere uint32 // the latest life in which clients elsewhere have had sessions here
	id              protocol.ID
	sessions        protocol.Machine // a session.Machine, and its recorder
	below           protocol.Machine
	cell            func() membership.Cell // the wanted cell; nil if the machine below has none
	spaces          []protocol.Machine
	began           time.Duration // what the clock showed at its start
	out             protocol.Effects
	wake            uint32 // the latest request to be woken
	wakeAt          instant
	paused          bool
	inbox           []task // arrivals since it was paused
	sinks           map[uint64]sink
	last            uint64 // the last sink
	view            *protocol.View
	decides         bool          // it keeps the table, if the protocol names the decider
	misfit          misfit        // the misconfiguration of its next life
	wrong           misfit        // and that of this one
	stuck           bool          // it stays down or paused until it is healed
	gone            bool          // it is lost permanently, until its address is given to another
	back            time.Duration // the time after which it is started again when it has left; 0 leaves that to the nemesis
	ambush          bool          // it crashes as soon as it has remembered something
	leaving         bool
	left            bool // it has left in good order, and stays away until it is started
	local           *ownClient
	current         *lock.Request // the request of the present step

	releasing *protocol.Release  // the release of the present step
	deferred  []protocol.Release // of this life, where names have a grace: what it may release later, because an heir has inherited it

	heard map[uint64]hearers // members that have heard of its requests in this life (hearing.go)

	// What coverage knows of the present life (moving.go).
	becoming bool  // it is to become the authority
	hops     uint8 // number of members that had the table that it hands over

	keeping []uint64 // its machine's counts of kept releases (keeping.go)

	busy busy // work left from when it was paused (busy.go)

	led led // coverage of leaders' tickets (leaders.go)
}

// sink takes the replies to one CallID.Sink.
type sink interface{ hear(*protocol.Reply) }

func (m *process) String() string { return m.name }

// now is the machine's time.
func (m *process) now() protocol.Time { return m.clock.read(m.world.now) - m.began }

// process names the present life among processes that share a store.
func (m *process) process() string { return fmt.Sprintf("%s%d", m.name, m.life) }

// start begins a life of the process.
func (m *process) start() {
	w := m.world
	if m.up || m.gone || m.stuck || !m.journal.opens() {
		return
	}
	m.life++
	if m.disk.stale {
		w.judge.forgets(uint64(m.id))
	}
	m.up, m.paused, m.leaving, m.left, m.back = true, false, false, false, 0
	m.inbox, m.busy = m.inbox[:0], busy{}
	m.sinks, m.last, m.view, m.heard = map[uint64]sink{}, 0, nil, nil
	m.began = m.clock.read(w.now)
	w.within(m.name, "life", int(m.life))
	node := Node{
		Protocol: w.protocol.Name, Name: m.name, Address: m.address, Founder: m.founder, Join: w.founders(), Kept: m.kept,
		Wall: w.wallOf(m), Rand: rand.New(rand.NewPCG(w.bits("chance", uint64(m.place)+1), w.bits("chance", uint64(m.life)))),
		Lease: w.settings.lease, Drift: w.settings.drift, Any: w.settings.faults.Has(Any), Preempt: w.settings.faults.Has(Preempt),
		Table:   lock.Config{WaitersPerName: w.settings.waiters, LocksPerSession: w.settings.locksPerSession, Drift: w.settings.drift},
		Options: maps.Clone(w.settings.options), Random: rand.New(rand.NewPCG(uint64(m.place), uint64(m.life))).Uint32(),
		Store: w.settings.store, Logs: m.journal.kept(), Sessions: w.settings.sessions,
	}
	if w.protocol.Stores {
		node.Process = m.process()
	}
	if w.protocol.Tune != nil {
		w.protocol.Tune(node.Options, node.Lease, node.Random)
	}
	m.wrong, m.misfit = m.misfit, fits
	m.wrong.spoil(&node)
	if m.kept {
		node.Cell = m.disk.synced
	}
	tap := w.tap(m, &node)
	built, err := w.protocol.Build(node)
	if err != nil {
		panic(fmt.Sprintf("sim: %s does not start: %v", m.name, err))
	}
	m.id = built.ID
	w.network.of[m.id] = m
	m.below, m.spaces = w.count.watch(built)
	m.cell = nil
	if keeper, is := built.Below.(interface{ Cell() membership.Cell }); is {
		m.cell = keeper.Cell
	}
	if m.sessions, err = m.front(&node, built, tap); err != nil {
		panic(fmt.Sprintf("sim: %s has no session machine: %v", m.name, err))
	}
	if w.around != nil {
		m.sessions = w.around(m.sessions)
	}
	w.trace("%s starts as %d, incarnation %d", m, m.id, built.Incarnation)
	w.reporter.life(timeline.Started, m, "")
	m.wakeAt, m.keeping, m.deferred = protocol.Never, make([]uint64, len(m.world.protocol.Kept)), nil
	w.observer.started(m)
	m.step(protocol.Event{Kind: protocol.Start})
}

// step acts like package run: one event, then all its effects, and the next wake-up.
func (m *process) step(ev protocol.Event) {
	w := m.world
	w.steps++
	w.count.step(theSessions, &ev)
	m.current, _ = ev.Fact.(*lock.Request)
	if m.releasing, _ = ev.Fact.(*protocol.Release); m.releasing != nil {
		w.stops(m.releasing)
		if w.settings.squanders && w.settings.known.Grace > 0 {
			m.deferred = append(m.deferred, *m.releasing)
		}
	}
	m.countElsewhere(ev.Fact)
	m.sessions.Step(m.now(), ev, &m.out)
	m.drain()
	w.moved(m)
	m.countKept()
	m.arm()
}

// drain performs the effects. A sink that hears a reply acts on it later, so that steps do not nest.
func (m *process) drain() {
	w := m.world
	for i := range m.out.Sends {
		w.network.send(m, &m.out.Sends[i])
	}
	for _, fact := range m.out.Raises {
		m.raised(fact)
	}
	for _, note := range m.out.Notes {
		m.noted(note)
	}
	w.decides(m)
	for i := range m.out.Replies {
		reply := &m.out.Replies[i]
		if reply.Decision.Kind != 0 {
			w.decided(m, reply)
		}
		if s := m.sinks[reply.To.Sink]; s != nil {
			s.hear(reply)
		}
	}
	m.out.Reset()
	w.checkAuthority(m)
	w.checkCycles(m)
}

func (m *process) raised(fact any) {
	w := m.world
	switch fact := fact.(type) {
	case *protocol.View:
		if w.tracing {
			w.trace("%s has view %d of epoch %d, coordinator %s, members %s, installed=%v open=%v grant from %v",
				m, fact.Number, fact.Epoch.Counter, w.called(fact.Coordinator), w.listed(fact), fact.Installed, fact.Open, protocol.FormatTime(fact.GrantFrom))
		}
		if m.view == nil || m.view.Epoch != fact.Epoch {
			w.judge.succeeds()
			if fact.Coordinator == m.id && len(fact.Members) > 1 {
				w.afar(farViewed)
			}
		}
		w.viewed(m, fact)
	case *protocol.Lapsed:
		w.trace("%s has lost its lease; its next tenure is %v", m, fact.Tenure)
		w.judge.lapsed(uint64(m.id))
	case *membership.Unfit:
		w.befall(Misfit, 0, []string{m.name}, "%s is unfit: %v", m, fact.Err)
		w.refused(m, fact.Err)
		w.do(w.now, func() { m.crash(m.life) })
		w.within(m.name, "unfit", int(m.life))
		w.do(w.now+w.between("back", time.Second, 3*time.Second), m.start)
	default:
		w.trace("%s raises %T %+v", m, fact, fact)
	}
}

func (m *process) noted(note protocol.Note) {
	m.world.trace("%s notes %v", m, note)
	if m.world.protocol.TransferProbe != nil && m.world.protocol.TransferProbe.Places(note) {
		m.world.count.hits[followsLoad]++
	}
	if broke, is := note.(protocol.Broke); is {
		m.world.did(m, broke)
	}
	m.world.voted(note)
	if serving, ok := note.(protocol.Serving); ok {
		m.world.count.reigns++
		m.world.judge.succeeds()
		m.world.trace("%s serves reign %d", m, serving.Reign)
	}
}

// arm schedules the machine's next wake-up.
func (m *process) arm() {
	at := protocol.Never
	if wake := m.sessions.Wake(); wake != protocol.Never {
		at = m.clock.when(wake + m.began)
	}
	if at == m.wakeAt && at != protocol.Never {
		return
	}
	m.wake++
	m.wakeAt = at
	if at != protocol.Never {
		m.world.at(at, task{kind: taskTick, to: m.place, life: m.wake})
	}
}

// tick wakes the machine.
func (m *process) tick(t *task) {
	if !m.up || t.life != m.wake {
		return
	}
	if m.paused {
		m.keep(*t)
		return
	}
	if m.waits(t) {
		return
	}
	m.wakeAt = protocol.Never
	unused := m.unused()
	m.step(protocol.Event{Kind: protocol.Tick})
	m.world.woken(m, unused)
}

// attach numbers a sink, which takes the replies to that number.
func (m *process) attach(s sink) uint64 {
	m.last++
	m.sinks[m.last] = s
	return m.last
}

// detach tells the machine that a sink is gone.
func (m *process) detach(number uint64) {
	if m.sinks[number] == nil {
		return
	}
	delete(m.sinks, number)
	m.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: number}, Fact: &session.Detach{}})
}

// question is the sink of one answer.
type question struct{ answer any }

func (q *question) hear(reply *protocol.Reply) { q.answer = reply.Result }

// query asks the machine a question that it answers within the step.
func (m *process) query(port protocol.Port, fact any) any {
	q := &question{}
	number := m.attach(q)
	m.step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: number, Op: 1}, Fact: fact})
	delete(m.sinks, number)
	return q.answer
}

// takes reports whether a process takes an arrival for one of its lives now; a paused process takes it when it wakes.
func (m *process) takes(t *task) bool {
	if m.up && m.life == t.life && m.paused {
		m.keep(*t)
		return false
	}
	return m.up && m.life == t.life
}

// keep holds back arrivals at a paused process: its sockets and timers wait.
func (m *process) keep(t task) {
	m.comes(&t)
	m.inbox = append(m.inbox, t)
}

// pause stops the process; its clock still runs.
func (m *process) pause(length time.Duration) {
	w := m.world
	if !m.up || m.paused {
		return
	}
	w.trace("%s is paused for %v", m, length)
	w.reporter.paused(m, length)
	m.pauses()
	m.paused = true
	life := m.life
	w.do(w.now+length, func() {
		if m.up && m.life == life {
			m.resume()
		}
	})
}

// resume continues the process: it finds arrivals in any order that its operating system chooses.
func (m *process) resume() {
	if !m.paused || m.stuck {
		return
	}
	w := m.world
	w.trace("%s wakes", m)
	w.reporter.life(timeline.Woke, m, "")
	m.paused = false
	m.wakes()
	w.tape.begin(m.name, "wakes")
	m.inbox = w.again(m.inbox)
	if m.local != nil {
		m.local.resume()
	}
}

// crash ends the process of a life, regardless of its state.
func (m *process) crash(life uint32) {
	w := m.world
	if !m.up || m.life != life {
		return
	}
	w.trace("%s crashes", m)
	w.strikes(m)
	m.countCrash()
	m.end("crash")
	m.disk.crash()
	m.journal.crash()
}

// forget destroys the folder of a member that is down: its cell, and its journal.
func (m *process) forget() {
	m.forgot = true
	m.disk.forget()
	m.journal.forget()
}

// end stops the process, for a named reason: its connections break, its users are gone.
func (m *process) end(how string) {
	w := m.world
	w.reporter.life(timeline.Stopped, m, how)
	w.reporter.unread(m.inbox)
	m.up = false
	m.wake++
	m.wakeAt = protocol.Never
	if m.local != nil {
		m.local.end()
		m.local = nil
	}
	w.observer.ended(m)
	w.gone(m)
	w.ends(m)
	w.store.ended(m)
	for _, l := range w.links {
		if l.member == m && !l.broken {
			l.sever(serverEnd)
		}
	}
}

// leave makes the member leave in good order, as `holdfast leave` does: the process ends once the departure is
// confirmed, or after 5 s.
func (m *process) leave() {
	w := m.world
	if !m.up || m.leaving {
		return
	}
	w.befall(Leave, 0, []string{m.name}, "%s leaves", m)
	m.leaving = true
	life := m.life
	m.ask(protocol.Below, &membership.Leave{}, func(result any) {
		if left, ok := result.(*membership.Left); ok {
			w.trace("%s has left: %v", m, left.Err)
			w.do(w.now, func() { m.depart(life) })
		}
	})
	w.do(w.now+5*time.Second, func() { m.depart(life) })
}

// depart ends the process of a life that has left.
func (m *process) depart(life uint32) {
	if m.up && m.life == life {
		m.end("left")
		m.left = true
		m.disk.finish()
		m.journal.finish()
		switch w := m.world; {
		case w.healed:
			w.do(w.now+time.Second, m.start)
		case m.back > 0:
			w.do(w.now+m.back, m.start)
		}
	}
}

// ask makes a call to the member's machine at a port, and hands its answers to heard.
func (m *process) ask(port protocol.Port, fact any, heard func(result any)) {
	sink := m.attach(sinkFunc(func(reply *protocol.Reply) { heard(reply.Result) }))
	m.step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: sink, Op: 1}, Fact: fact})
}

// sinkFunc is a function as a sink.
type sinkFunc func(*protocol.Reply)

func (f sinkFunc) hear(reply *protocol.Reply) { f(reply) }

var errDisk = errors.New("input/output error")
