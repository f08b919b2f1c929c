package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// end is one end of a link.
type end uint8

const (
	clientEnd end = iota
	serverEnd
)

// link is a connection between a client and a member's process: it keeps the order of
// what it carries, delays it, and may break, which each end learns in its own time or
// never.
type link struct {
	world            *world
	client           *client
	member           *process
	life             uint32           // of the member's process
	edge             edge             // the member's end
	broken           bool             // one end has gone, or what lies between
	upLost, downLost bool             // nothing arrives any more in that direction
	up, down         instant          // when the latest of each direction arrives
	operations       queue[operation] // what is under way, in the order in which it was sent
	events           queue[event]
	batches          queue[int] // of how many events each that arrives together
}

// opKind is the kind of an operation, as in wire/api.
type opKind uint8

const (
	opHello opKind = iota + 1
	opAcquire
	opRelease
	opCancel
	opExtend
	opBeat
	opEnd
	opForeign // a release of what another session holds
)

// operation is what a client says.
type operation struct {
	kind     opKind
	id       uint64
	name     string
	owner    string
	mode     holdfast.Mode
	units    int
	capacity int
	try      bool
	wait     time.Duration // that remains; 0 for no limit
	hold     time.Duration
	ttl      time.Duration
	token    holdfast.Token
	session  lock.SessionID // opHello: to resume; zero for a new one
	secret   session.Secret
	requests []uint64 // opHello: those that are not settled
	last     uint64   // opHello: the latest id that was given
	number   uint64   // opHello: which client this is
	// generation is opHello's, as the session's latest welcome has told it.
	generation uint64
	eventID    uint32 // its number in the timeline
}

// evKind is the kind of an event, as in wire/api.
type evKind uint8

const (
	evWelcome evKind = iota + 1
	evGranted
	evQueued
	evRefused
	evReleased
	evLost
	evExtended
	evBeat
	evGoodbye // the member has closed the stream
)

// event is what a member tells.
type event struct {
	kind        evKind
	id          uint64
	token       holdfast.Token
	span        time.Duration // ttl or hold limit
	grace       bool          // evGranted: its name stays taken for a while after that
	position    int
	why         holdfast.Loss
	mustRelease bool
	err         error
	session     lock.SessionID
	secret      session.Secret
	generation  uint64          // evWelcome
	tenure      protocol.Tenure // evWelcome to a new session: of the member, which no client is told
	eventID     uint32          // the number in the timeline of this and what is told with it
}

var opNames = [...]string{opHello: "hello", opAcquire: "acquire", opRelease: "release", opCancel: "cancel", opExtend: "extend", opBeat: "beat", opEnd: "end", opForeign: "release"}

func (k opKind) String() string { return opNames[k] }

var evNames = [...]string{evWelcome: "welcome", evGranted: "granted", evQueued: "queued", evRefused: "refused", evReleased: "released", evLost: "lost", evExtended: "extended", evBeat: "beat", evGoodbye: "goodbye"}

func (k evKind) String() string { return evNames[k] }

// String names the link by its client and its member.
func (l *link) String() string { return l.client.name + "→" + l.member.name }

// upward begins an act on the way to the member, downward one on the way to the client.
func (l *link) upward(what string) {
	if t := l.world.tape; t != nil {
		t.begin(l.client.name+"→"+l.member.name, what)
	}
}

func (l *link) downward(what string) {
	if t := l.world.tape; t != nil {
		t.begin(l.member.name+"→"+l.client.name, what)
	}
}

func (op *operation) String() string {
	text := "client." + op.kind.String()
	if op.kind == opForeign {
		text += " of another's"
	}
	if op.session != (lock.SessionID{}) {
		text += fmt.Sprintf(" of session %v", op.session)
	}
	if op.id != 0 {
		text += fmt.Sprintf(" #%d", op.id)
	}
	if op.name != "" {
		text += fmt.Sprintf(" %q", op.name)
	}
	if op.token != 0 {
		text += fmt.Sprintf(" token=%d", op.token)
	}
	return text
}

func (e *event) String() string {
	text := "client." + e.kind.String()
	if e.session != (lock.SessionID{}) {
		text += fmt.Sprintf(" to session %v", e.session)
	}
	if e.id != 0 {
		text += fmt.Sprintf(" #%d", e.id)
	}
	if e.token != 0 {
		text += fmt.Sprintf(" token=%d", e.token)
	}
	if e.span != 0 {
		text += fmt.Sprintf(" for %v", e.span)
	}
	if e.why != "" {
		text += fmt.Sprintf(": %s", e.why)
	}
	if e.err != nil {
		text += fmt.Sprintf(": %v", e.err)
	}
	return text
}

// connect makes the link; both ends know each other one latency later.
func (w *world) connect(c *client, m *process) *link {
	l := &link{world: w, client: c, member: m, life: m.life, up: w.now, down: w.now}
	l.edge.link = l
	switch {
	case !m.up: // no process listens: the machine says so, or says nothing
		l.broken = true
	case w.severed(c, m):
		l.upLost, l.downLost = true, true
	}
	if len(w.links) > 2*len(w.clients)+16 {
		w.forgetLinks()
	}
	w.links = append(w.links, l)
	return l
}

// say carries an operation to the member.
func (l *link) say(op operation) {
	w := l.world
	l.upward(op.kind.String())
	if w.tracing {
		said := op // a copy, so that op itself stays off the heap
		w.detail("%s → %s  %v", l.client, l.member, &said)
	}
	if w.reporter != nil {
		op.eventID = w.reporter.called(l, op)
	}
	if l.upLost {
		w.detail("        lost: the connection is broken")
		w.reporter.lost(op.eventID, "the connection is broken")
		return
	}
	l.up = max(l.up, w.now+w.latency())
	l.operations.put(op)
	w.at(l.up, task{kind: taskOperation, link: l, eventID: op.eventID})
}

// deliver carries events to the client, together.
func (l *link) deliver(events ...event) {
	w := l.world
	l.downward(events[0].kind.String())
	if w.tracing {
		for _, ev := range events { // a copy, so that events stay off the heap
			w.detail("%s → %s  %v", l.member, l.client, &ev)
		}
	}
	eventID := uint32(0)
	if w.reporter != nil {
		eventID = w.reporter.answers(l, slices.Clone(events)) // a copy, as above
		events[0].eventID = eventID
	}
	if l.downLost {
		w.detail("        lost: the connection is broken")
		w.reporter.lost(eventID, "the connection is broken")
		return
	}
	l.down = max(l.down, w.now+w.latency())
	for i := range events {
		l.events.put(events[i])
	}
	l.batches.put(len(events))
	w.at(l.down, task{kind: taskEvents, link: l, eventID: eventID})
}

// arrive hands the next of what is under way to one end, if that is still there. The
// task says that something has come, and not what: an end that was paused takes first what
// came meanwhile, whichever task is the first after it.
func (w *world) arrive(t *task) {
	l := t.link
	m, c := l.member, l.client
	if t.kind == taskOperation {
		switch {
		case l.upLost || !m.up || m.life != l.life:
			w.reporter.lost(t.eventID, "the connection is broken")
		case m.paused:
			m.keep(*t)
		default:
			op := l.operations.take(1)[0]
			w.reporter.delivered(op.eventID)
			l.edge.perform(&op)
		}
		return
	}
	switch {
	case l.downLost || !c.up:
		w.reporter.lost(t.eventID, "the connection is broken")
	case c.paused:
		c.keep(*t)
	default:
		events := l.events.take(l.batches.take(1)[0])
		w.reporter.delivered(events[0].eventID)
		c.hear(l, events)
	}
}

// close ends the link in good order: what was said before arrives. Only members do
// that; a client says that its session has ended, or is gone.
func (l *link) close() {
	w := l.world
	l.broken = true
	l.downward("close")
	w.at(max(l.down, w.now+w.latency()), task{kind: taskBreak, end: clientEnd, link: l})
	l.edge.leave()
}

// neither is no end: it is what lies between them that has broken.
const neither end = 255

// sever breaks the link. What the end that is gone has said before may still arrive.
// The others learn of it after a latency or, as when a machine loses its power, after
// long.
func (l *link) sever(gone end) {
	if l.broken {
		return
	}
	w := l.world
	l.broken = true
	l.upward("break")
	l.upLost = gone != clientEnd || w.oneIn("lost", 2)
	l.downLost = gone != serverEnd || w.oneIn("lost", 2)
	for _, end := range []end{clientEnd, serverEnd} {
		if end == gone {
			continue
		}
		after := w.length("noticed", usualLatency, func() time.Duration {
			after := w.drawLatency()
			w.count.longest = max(w.count.longest, after)
			if w.rand.IntN(3) == 0 {
				after = w.rand.between(time.Second, 20*time.Second)
			}
			return after
		})
		w.at(max(w.now+after, l.up, l.down), task{kind: taskBreak, end: end, link: l})
	}
}

// learn lets one end know that the link is broken.
func (w *world) learn(t *task) {
	l := t.link
	m, c := l.member, l.client
	switch {
	case t.end == serverEnd && m.up && m.life == l.life && m.paused:
		m.keep(*t)
	case t.end == serverEnd && m.up && m.life == l.life:
		l.upLost = true
		l.edge.leave()
	case t.end == clientEnd && c.up && c.paused:
		c.keep(*t)
	case t.end == clientEnd && c.up:
		l.downLost = true
		c.broken(l)
	}
}

// forgetLinks drops links that no end uses any more.
func (w *world) forgetLinks() {
	kept := w.links[:0]
	for _, l := range w.links {
		if !l.broken || l.edge.sink != 0 && l.member.up && l.member.life == l.life {
			kept = append(kept, l)
		}
	}
	clear(w.links[len(kept):])
	w.links = kept
}

// userSpace is the port of the one space that users lock in.
const userSpace protocol.Port = 1
