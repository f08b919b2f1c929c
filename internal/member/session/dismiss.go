package session

import (
	"maps"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A session that lasting spaces have does not end because this member serves it no longer: it is dismissed, and its client
// goes on with it at the member that takes it over. It loses nothing by that, so a member that is stopped in good order is
// as little to its clients as one that dies.

// goesOn reports whether a session lives on where this member serves it no longer. Its client's belief in spaces that do
// not last is not asked about here: the code that dismisses it has seen to that.
func (m *Machine) goesOn(p *presence) bool {
	return m.config.TakesOver && p.kind != Local && p.lasting != nil
}

// notifyEnd tells the sink of a session that it has ended, or goes on elsewhere. Who wished the end is answered.
func (m *Machine) notifyEnd(p *presence, why holdfast.Loss, out *protocol.Effects) {
	switch to := (protocol.CallID{Sink: p.sink}); {
	case p.dismissed:
		out.Reply(to, &Dismissed{ID: p.id, Err: p.away})
		m.superseded[p.sink] = true
	case p.taking != nil:
		out.Reply(to, &Expired{ID: p.id, Err: errEnded})
	case why != "":
		out.Reply(to, &Expired{ID: p.id, Err: p.away})
	}
}

// withdraw refuses the calls that wait in lasting spaces and did not come over the session's stream, and takes back what
// they ask for: a client that asks again, through another member, does so by another request, and the two would stand in
// each other's way. A request of a stream that waits keeps its place, because its client asks for it again under its number.
func (m *Machine) withdraw(now protocol.Time, p *presence, out *protocol.Effects) {
	waiting := maps.Clone(p.waiting)
	m.hangUp(p, holdfast.MemberLost, out)
	for _, request := range sortedKeys(waiting) {
		if w := waiting[request]; m.config.lasts(w.port) {
			cancel := &protocol.Cancel{Session: p.id, Name: w.name, Request: request}
			m.pass(now, &protocol.Event{Kind: protocol.Call, Port: w.port, Fact: cancel}, out)
		}
	}
}

// partings are the sessions that a member which closes is about to dismiss: when others lead what it has led, so that
// they are taken over at once, or when that takes too long.
type partings struct {
	waiting []parting
	until   protocol.Time // they wait for no longer
	wake    protocol.Time // when to look again, if nothing happens
}

// parting is one of them. Before from it is not dismissed.
type parting struct {
	id   lock.SessionID
	from protocol.Time
}

// takeBack is how long a session stays here after its single calls that waited were refused: they give back what else they
// were granted, which the member that serves the session next could not tell from what its client knows of.
const takeBack = 100 * time.Millisecond

// dismissLater has a session wait until it is dismissed. What its client asks for meanwhile, it asks for again then.
func (m *Machine) dismissLater(now protocol.Time, p *presence, out *protocol.Effects) {
	e := parting{p.id, now}
	if p.kind == OneShot || len(p.waiting) > 0 {
		e.from = now + takeBack
	}
	p.parting, p.away = true, m.closing.refusal()
	m.closing.parting.waiting = append(m.closing.parting.waiting, e)
	m.withdraw(now, p, out)
}

// dismissParting dismisses those whose time has come.
func (m *Machine) dismissParting(now protocol.Time, out *protocol.Effects) {
	w := &m.closing.parting
	if len(w.waiting) == 0 {
		return
	}
	over := now >= w.until
	handed := over || m.stepDown(now, out)
	waiting := w.waiting
	w.waiting, w.wake = nil, w.until
	for _, e := range waiting {
		switch p := m.sessions[e.id]; {
		case p == nil:
		case over || handed && now >= e.from:
			m.endAway(now, p, m.closing.refusal(), out)
		default:
			w.waiting = append(w.waiting, e)
			if e.from > now {
				w.wake = min(w.wake, e.from)
			}
		}
	}
}

// next is when to look again whether a session is to be dismissed; Never where none is.
func (w *partings) next() protocol.Time {
	if len(w.waiting) == 0 {
		return protocol.Never
	}
	return w.wake
}
