package sim

import (
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// edge is a member's end of a link. It does what package server does with a stream:
// hello opens or resumes a session, operations become events of the machine, replies
// become events of the client, the welcome before all others.
type edge struct {
	link    *link
	sink    uint64
	session lock.SessionID
	greeted bool
	over    bool    // a last word was said
	early   []event // what was told before the welcome
}

// The number of a call says what its answer is about, as in package server.
const (
	callBit   = 1 << 63
	callShift = 56
	helloCall = callBit | uint64(opHello)<<callShift
)

// tryWait is how long a try waits for an authority where it does not say.
const tryWait = 5 * time.Second

func callOf(op uint64) opKind {
	if op&callBit == 0 {
		return opAcquire
	}
	return opKind(op >> callShift & 0x7f)
}

// perform does what an operation asks for.
func (e *edge) perform(op *operation) {
	m := e.link.member
	if e.over {
		return
	}
	if op.kind == opHello {
		e.greet(op)
		return
	}
	if op.kind == opBeat {
		m.busy.hears(e.session)
	}
	now := m.now()
	number := callBit | uint64(op.kind)<<callShift | op.id
	port, fact := userSpace, any(nil)
	switch op.kind {
	case opAcquire:
		number = op.id
		fact = &lock.Request{
			Session: e.session, ID: op.id, Name: op.name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: op.mode, Units: op.units, Capacity: op.capacity}, Owner: op.owner, Hold: op.hold},
			Try: op.try, Arrived: now, WaitEnd: waitEnd(now, op),
		}
	case opRelease:
		fact = &protocol.Release{Session: e.session, Name: op.name, Token: op.token, Request: op.id}
	case opForeign:
		fact = &protocol.Release{Session: e.session, Name: op.name, Token: op.token}
	case opCancel:
		fact = &protocol.Cancel{Session: e.session, Name: op.name, Request: op.id}
	case opExtend:
		fact = &protocol.Extend{Session: e.session, Name: op.name, Token: op.token, Request: op.id, Hold: op.hold}
	case opBeat:
		port, fact = protocol.Below, &session.Renew{ID: e.session, Proven: true, TTL: op.ttl, Arrived: now}
	case opEnd:
		port, fact = protocol.Below, &session.End{ID: e.session, Proven: true}
	}
	m.step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: e.sink, Op: number}, Fact: fact})
}

// waitEnd is when the wait of an acquire that arrived at now ends.
func waitEnd(now protocol.Time, op *operation) protocol.Time {
	switch {
	case op.wait > 0:
		return now + op.wait
	case op.try:
		return now + tryWait
	}
	return protocol.Never
}

// greet opens or resumes the session.
func (e *edge) greet(op *operation) {
	m := e.link.member
	e.sink = m.attach(e)
	call := protocol.CallID{Sink: e.sink, Op: helloCall}
	if op.session == (lock.SessionID{}) {
		m.step(protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.Open{Kind: session.Stream, TTL: op.ttl, Number: op.number}})
		return
	}
	e.session = op.session
	resume := &session.Resume{
		ID: op.session, Secret: op.secret, TTL: op.ttl, Requests: op.requests, Last: op.last, Number: op.number, Generation: op.generation,
	}
	if m.world.protocol.Logs {
		// Any member may have it, and has to ask the others before it says so.
		m.step(protocol.Event{Kind: protocol.Call, Call: call, Fact: resume})
		return
	}
	check := &session.Check{ID: op.session, Secret: op.secret, Number: op.number, Generation: op.generation}
	checked, ok := m.query(protocol.Below, check).(*session.Renewed)
	if !ok || checked.Err != nil {
		why := session.ErrUnknown
		if ok && errors.Is(checked.Err, session.ErrTakenOver) {
			why = checked.Err
		}
		e.refuse(why)
		return
	}
	m.step(protocol.Event{Kind: protocol.Call, Call: call, Fact: resume})
}

// refuse refuses the hello and ends the stream.
func (e *edge) refuse(err error) {
	e.link.deliver(event{kind: evRefused, err: err})
	e.finish()
}

// finish ends the stream when what was told has arrived.
func (e *edge) finish() {
	if !e.over {
		e.over = true
		e.link.close()
	}
}

// leave lets go of the session, which lives on until its ttl is over. It happens
// after the step that it may be called in.
func (e *edge) leave() {
	m, sink := e.link.member, e.sink
	if sink == 0 {
		return
	}
	e.sink = 0
	life := m.life
	m.world.do(m.world.now, func() {
		if m.up && m.life == life {
			m.detach(sink)
		}
	})
}

// hear turns a reply into what the client is told.
func (e *edge) hear(reply *protocol.Reply) {
	id := reply.To.Op &^ (callBit | 0x7f<<callShift)
	switch result := reply.Result.(type) {
	case nil:
		e.decision(reply)
	case *session.Opened:
		if result.Err != nil {
			e.refuse(result.Err)
			return
		}
		e.session = result.ID
		e.welcome(event{kind: evWelcome, session: result.ID, secret: result.Secret, span: result.TTL, generation: result.Generation, tenure: e.link.member.view.Lease.Tenure})
	case *session.Renewed:
		e.renewed(reply.To.Op, id, result)
	case *session.Ended:
		e.put(event{kind: evReleased, id: id, err: result.Err})
		e.finish()
	case *session.Expired:
		e.link.member.expired(result.ID, result.Err)
		e.farewell()
		e.finish()
	case *session.Dismissed:
		e.finish() // its status says that another member may serve
	case *session.Superseded:
		e.superseded()
	case *session.TakenOver:
		e.takenOver()
	}
}

// superseded ends the stream of a session that a later one has resumed (server:
// errSuperseded). What was told before on it may arrive, and count until the later one
// is welcomed.
func (e *edge) superseded() {
	e.link.downward("superseded")
	if !e.link.world.butOneIn("lost", 2) {
		e.finish()
		return
	}
	e.over = true
	e.link.sever(neither)
}

// farewell is the status with which the stream of a session that has ended ends
// (server: errExpired). It may be lost with the connection, as it always is in runs
// without the faults of Later.
func (e *edge) farewell() {
	w := e.link.world
	e.link.downward("farewell")
	if e.greeted && !e.over && w.settings.faults&Later != 0 && !w.oneIn("lost", 4) {
		e.link.deliver(event{kind: evGoodbye, err: session.ErrUnknown})
	}
}

func (e *edge) renewed(op, id uint64, renewed *session.Renewed) {
	if op == helloCall {
		if renewed.Err != nil {
			e.refuse(renewed.Err)
			return
		}
		for i := range renewed.Lost {
			e.put(lostEvent(&renewed.Lost[i].Decision))
		}
		e.welcome(event{kind: evWelcome, session: e.session, span: renewed.TTL, generation: renewed.Generation})
		return
	}
	for i := range renewed.Lost {
		e.put(lostEvent(&renewed.Lost[i].Decision))
	}
	if errors.Is(renewed.Err, session.ErrTakenOver) {
		e.takenOver()
		return
	}
	if renewed.Err != nil {
		e.put(event{kind: evRefused, id: id, err: renewed.Err})
		if !errors.Is(renewed.Err, holdfast.ErrUnavailable) {
			e.finish()
		}
		return
	}
	e.put(event{kind: evBeat, id: id, span: renewed.TTL})
}

// welcome tells that the session goes on, together with what it was told before.
func (e *edge) welcome(first event) {
	e.greeted = true
	e.link.deliver(append([]event{first}, e.early...)...)
	e.early = nil
}

func (e *edge) put(ev event) {
	if !e.greeted {
		e.early = append(e.early, ev)
		return
	}
	e.link.deliver(ev)
}

// decision tells what became of a request, as the answer to a call about it or by
// itself.
func (e *edge) decision(reply *protocol.Reply) {
	d := &reply.Decision
	kind := callOf(reply.To.Op)
	ev := event{id: d.Request}
	if kind == opForeign {
		if d.Kind == lock.Released {
			e.link.world.judge.foreignReleased(d.Name, d.Token, e.session)
		}
		return
	}
	switch d.Kind {
	case lock.Granted:
		ev.kind, ev.token, ev.span = evGranted, d.Token, d.Hold
		ev.grace = d.Hold > 0 && e.link.world.settings.known.Grace > 0
		if kind == opExtend {
			ev.kind = evExtended
		}
	case lock.Queued:
		ev.kind, ev.position = evQueued, d.Position
	case lock.Refused:
		ev.kind, ev.err = evRefused, d.Err
		if kind == opRelease || kind == opCancel {
			ev.kind = evReleased
		}
	case lock.Lost, lock.Revoked:
		ev = lostEvent(d)
	case lock.Released:
		ev.kind = evReleased
	default:
		return
	}
	e.put(ev)
}

func lostEvent(d *lock.Decision) event {
	return event{kind: evLost, id: d.Request, why: d.Loss, mustRelease: d.Kind == lock.Revoked}
}
