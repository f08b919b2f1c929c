package session

import (
	"maps"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A session in lasting spaces does not end when this member stops serving it: it is dismissed, and its client continues
// at the member that adopts it. It loses nothing, so to its clients an orderly stop of a member is no worse than its
// crash.

// goesOn reports whether a session lives on after this member stops serving it. One that is tied to this member does
// not: its client has to learn that what it holds in the member's own spaces is lost.
func (m *Machine) goesOn(p *presence) bool {
	return p.kind != Local && p.lasting != nil && !p.tied
}

// notifyEnd informs the sink of a session that it has ended, or continues elsewhere. The caller that requested the end
// gets its answer.
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

// withdraw refuses the calls that wait in lasting spaces and did not come over the session's stream, and withdraws
// their requests: a client that repeats one through another member uses a new request, and the two would block each
// other. A stream's waiting request keeps its place, because its client repeats it under the same number.
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

// partings are the sessions that a closing member is about to dismiss: once others lead what it has led, so that they
// are adopted at once, or when that takes too long.
type partings struct {
	waiting []parting
	until   protocol.Time // they wait no longer than this
	wake    protocol.Time // when to check again, if nothing happens
}

// parting is one such session. It is not dismissed before from.
type parting struct {
	id   lock.SessionID
	from protocol.Time
}

// takeBack is how long a session stays here after its waiting single calls were refused. In that time they give back
// other grants, which the next member could not distinguish from grants that the client knows of.
const takeBack = 100 * time.Millisecond

// dismissLater makes a session wait to be dismissed. Its client repeats requests made meanwhile afterwards.
func (m *Machine) dismissLater(now protocol.Time, p *presence, out *protocol.Effects) {
	e := parting{p.id, now}
	if p.kind == OneShot || len(p.waiting) > 0 {
		e.from = now + takeBack
	}
	p.parting, p.away = true, m.closing.refusal()
	m.closing.parting.waiting = append(m.closing.parting.waiting, e)
	m.withdraw(now, p, out)
}

// dismissParting dismisses the sessions that are due.
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

// next returns when to check again for sessions to dismiss; Never if there is none.
func (w *partings) next() protocol.Time {
	if len(w.waiting) == 0 {
		return protocol.Never
	}
	return w.wake
}
