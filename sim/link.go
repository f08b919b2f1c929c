package sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/protocol"
)

// end is one end of a link.
type end uint8

const (
	clientEnd end = iota
	serverEnd
)

// link is a connection between a client and a member's process. It keeps the order of its messages, delays them, and
// may break, which each end learns at its own time or never.
type link struct {
	world            *world
	client           *client
	member           *process
	life             uint32          // of the member's process
	server           server          // the member's end
	foreign          map[uint64]bool // releases of other sessions' holds
	contact          *clientsession.Contact
	helloed          instant          // when hello was sent
	phase            time.Duration    // of the heartbeats
	answered         bool             // the hello was answered
	refusal          error            // why the client rejects the answer; the opened session is being ended
	orderly          bool             // the member has closed it
	broken           bool             // one end, or the connection between them, is gone
	upLost, downLost bool             // no more messages arrive in that direction
	up, down         instant          // when the latest of each direction arrives
	operations       queue[operation] // operations in flight, in the order of sending
	answers          queue[answer]
	// The first memory of the queues: most links carry little.
	ofOperations [2]operation
	ofAnswers    [2]answer
}

// linkBlock is the number of links allocated at once: a run makes hundreds.
const linkBlock = 16

// newLink makes an empty link.
func (w *world) newLink() *link {
	if len(w.spareLinks) == 0 {
		w.spareLinks = make([]link, linkBlock)
	}
	l := &w.spareLinks[0]
	w.spareLinks = w.spareLinks[1:]
	l.operations.waiting, l.answers.waiting = l.ofOperations[:0], l.ofAnswers[:0]
	return l
}

// operation is a message of a client.
type operation struct {
	*schema.Operation
	frame   *clientFrame // the frame that owns its memory, or nil
	foreign bool         // a release of another session's hold
	eventID uint32       // its number in the timeline
}

// answer is a message of a member: a frame, or the status with which it ends the stream.
type answer struct {
	frame   *edge.Frame
	status  error
	eventID uint32 // its number in the timeline
}

// clientFrame is a frame of a client, and the number of its operations in flight.
type clientFrame struct {
	clientsession.Frame
	left int
}

// frames is the memory of messages on links.
type frames struct {
	ofClients []*clientFrame
	ofMembers []*edge.Frame
}

// client returns an empty frame for a client.
func (f *frames) client() *clientFrame {
	if n := len(f.ofClients); n > 0 {
		frame := f.ofClients[n-1]
		f.ofClients = f.ofClients[:n-1]
		return frame
	}
	return &clientFrame{}
}

// taken frees the memory of an operation that has arrived, or was lost.
func (f *frames) taken(frame *clientFrame) {
	if frame == nil {
		return
	}
	if frame.left--; frame.left == 0 {
		f.ofClients = append(f.ofClients, frame)
	}
}

// member returns an empty frame for a member.
func (f *frames) member() *edge.Frame {
	if n := len(f.ofMembers); n > 0 {
		frame := f.ofMembers[n-1]
		f.ofMembers = f.ofMembers[:n-1]
		return frame
	}
	return &edge.Frame{}
}

// heard frees the memory of an answer that has arrived, or was lost.
func (f *frames) heard(frame *edge.Frame) {
	if frame != nil {
		frame.Empty()
		f.ofMembers = append(f.ofMembers, frame)
	}
}

// kind is the name of the operation's request.
func (op *operation) kind() string {
	switch op.GetKind().(type) {
	case *schema.Operation_Hello:
		return "hello"
	case *schema.Operation_Acquire:
		return "acquire"
	case *schema.Operation_Release:
		return "release"
	case *schema.Operation_Cancel:
		return "cancel"
	case *schema.Operation_Extend:
		return "extend"
	case *schema.Operation_Amend:
		return "amend"
	case *schema.Operation_Beat:
		return "beat"
	}
	return "end"
}

// kindOf is the name of an event.
func kindOf(e *schema.Event) string {
	switch e.GetKind().(type) {
	case *schema.Event_Welcome:
		return "welcome"
	case *schema.Event_Granted:
		return "granted"
	case *schema.Event_Queued:
		return "queued"
	case *schema.Event_Refused:
		return "refused"
	case *schema.Event_Released:
		return "released"
	case *schema.Event_Lost:
		return "lost"
	case *schema.Event_Extended:
		return "extended"
	case *schema.Event_Amended:
		return "amended"
	case *schema.Event_Beat:
		return "beat"
	}
	return "moved"
}

// kind is the name of the answer's first event.
func (a *answer) kind() string {
	if a.frame == nil {
		return "goodbye"
	}
	return kindOf(a.frame.Message.GetEvents()[0])
}

// texts lists the events of an answer as text.
func (a *answer) texts() (all []string) {
	if a.frame == nil {
		return []string{fmt.Sprintf("client.goodbye: %v", a.status)}
	}
	for _, e := range a.frame.Message.GetEvents() {
		all = append(all, textOf(e))
	}
	return all
}

// lock returns the name and the token of the operation's lock.
func (op *operation) lock() (name string, token holdfast.Token) {
	switch kind := op.GetKind().(type) {
	case *schema.Operation_Acquire:
		return kind.Acquire.GetName(), 0
	case *schema.Operation_Release:
		return kind.Release.GetName(), holdfast.Token(kind.Release.GetToken())
	case *schema.Operation_Cancel:
		return kind.Cancel.GetName(), 0
	case *schema.Operation_Extend:
		return kind.Extend.GetName(), holdfast.Token(kind.Extend.GetToken())
	case *schema.Operation_Amend:
		return kind.Amend.GetName(), holdfast.Token(kind.Amend.GetToken())
	}
	return "", 0
}

// String names the link by its client and its member.
func (l *link) String() string { return l.client.name + "→" + l.member.name }

// upward begins an act on the way to the member; downward does so on the way to the client.
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
	text := "client." + op.kind()
	if op.foreign {
		text += " of another's"
	}
	if id := op.GetHello().GetSession(); id != "" {
		text += " of session " + id
	}
	if id := op.GetId(); id != 0 {
		text += fmt.Sprintf(" #%d", id)
	}
	name, token := op.lock()
	if name != "" {
		text += fmt.Sprintf(" %q", name)
	}
	if token != 0 {
		text += fmt.Sprintf(" token=%d", token)
	}
	return text
}

// textOf is an event as shown in traces.
func textOf(e *schema.Event) string {
	text := "client." + kindOf(e)
	if id := e.GetWelcome().GetSession(); id != "" {
		text += " to session " + id
	}
	if id := e.GetId(); id != 0 {
		text += fmt.Sprintf(" #%d", id)
	}
	if token := e.GetGranted().GetToken(); token != 0 {
		text += fmt.Sprintf(" token=%d", token)
	}
	if span := e.GetWelcome().GetTtl() + e.GetGranted().GetHold() + e.GetExtended().GetHold() + e.GetBeat().GetTtl(); span != 0 {
		text += fmt.Sprintf(" for %v", time.Duration(span))
	}
	if why := e.GetLost().GetWhy(); why != "" {
		text += ": " + why
	}
	if problem := cmp.Or(e.GetRefused().GetProblem(), e.GetReleased().GetProblem()); problem != nil {
		text += ": " + problem.GetDetail()
	}
	return text
}

// connect makes the link; both ends know each other one latency later.
func (w *world) connect(c *client, m *process) *link {
	l := w.newLink()
	l.world, l.client, l.member, l.life, l.up, l.down = w, c, m, m.life, w.now, w.now
	l.server.link = l
	switch {
	case !m.up: // no process listens: the machine refuses the connection, or does not answer
		l.broken = true
	case w.severed(c, m):
		l.upLost, l.downLost = true, true
	default:
		l.serve()
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
	l.upward(op.kind())
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
		w.frames.taken(op.frame)
		return
	}
	l.up = max(l.up, w.now+w.latency())
	l.operations.put(op)
	w.at(l.up, task{kind: taskOperation, link: l, eventID: op.eventID})
}

// deliver carries an answer to the client.
func (l *link) deliver(a answer) {
	w := l.world
	l.downward(a.kind())
	if w.tracing {
		for _, text := range a.texts() {
			w.detail("%s → %s  %v", l.member, l.client, text)
		}
	}
	if w.reporter != nil {
		told := a // a copy, so that a itself stays off the heap
		a.eventID = w.reporter.answers(l, &told)
	}
	if l.downLost {
		w.detail("        lost: the connection is broken")
		w.reporter.lost(a.eventID, "the connection is broken")
		w.frames.heard(a.frame)
		return
	}
	l.down = max(l.down, w.now+w.latency())
	l.answers.put(a)
	w.at(l.down, task{kind: taskEvents, link: l, eventID: a.eventID})
}

// arrive hands the next message in flight to one end, if that still exists. The task does not name the message: an end
// that was paused takes first what came meanwhile, whichever task is the first after it.
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
			op := &l.operations.take(1)[0]
			w.reporter.delivered(op.eventID)
			if op.foreign {
				if l.foreign == nil {
					l.foreign = map[uint64]bool{}
				}
				l.foreign[op.GetId()] = true
			}
			l.server.perform(op.Operation)
			w.frames.taken(op.frame)
		}
		return
	}
	switch {
	case l.downLost || !c.up:
		w.reporter.lost(t.eventID, "the connection is broken")
	case c.paused:
		c.keep(*t)
	default:
		a := &l.answers.take(1)[0]
		w.reporter.delivered(a.eventID)
		frame := a.frame
		c.hear(l, a)
		w.frames.heard(frame)
	}
}

// close ends the link in good order: earlier messages arrive. Only members do that; a client reports the end of its
// session, or vanishes.
func (l *link) close() {
	w := l.world
	l.broken, l.orderly = true, true
	l.downward("close")
	w.at(max(l.down, w.now+w.latency()), task{kind: taskBreak, end: clientEnd, link: l})
	l.server.leave()
}

// neither stands for a break between the ends.
const neither end = 255

// sever breaks the link. Earlier messages of the end that is gone may still arrive. The other end learns of the break
// after a latency or, as when a machine loses power, much later.
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
		l.server.leave()
	case t.end == clientEnd && c.up && c.paused:
		c.keep(*t)
	case t.end == clientEnd && c.up:
		l.downLost = true
		var status error
		if !l.orderly {
			status = errBroken
		}
		c.broken(l, status)
	}
}

// forgetLinks drops links that no end uses any more.
func (w *world) forgetLinks() {
	kept := w.links[:0]
	for _, l := range w.links {
		if !l.broken || l.server.sink != 0 && l.member.up && l.member.life == l.life {
			kept = append(kept, l)
		}
	}
	clear(w.links[len(kept):])
	w.links = kept
}

// userSpace is the port of the one space in which users lock.
const userSpace protocol.Port = 1
