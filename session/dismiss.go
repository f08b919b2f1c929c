package session

import (
	"maps"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A session that lasting spaces have does not end because this member serves it no longer: it is dismissed, and its client
// goes on with it wherever it is taken over. It loses nothing by that, so a member that is stopped in good order is as
// little to its clients as one that dies.

// goesOn reports whether a session lives on where this member serves it no longer. What its client may believe of
// spaces that do not last is not asked here: whoever dismisses it has seen to that.
func (m *Desk) goesOn(p *presence) bool {
	return m.config.TakesOver && p.sort != Local && p.lasting != nil
}

// tellEnd tells the sink of a session that it has ended, or goes on elsewhere. Who wished the end is answered.
func (m *Desk) tellEnd(p *presence, why holdfast.Loss, out *protocol.Effects) {
	switch to := (protocol.CallID{Sink: p.sink}); {
	case p.dismissed:
		out.Reply(to, &Dismissed{ID: p.id, Err: p.away})
		m.superseded[p.sink] = true
	case why != "":
		out.Reply(to, &Expired{ID: p.id, Err: p.away})
	}
}

// withdraw refuses the calls that wait in lasting spaces and did not come over the session's stream, and takes back what
// they ask for: whoever asks again, through another member, does so by another request, and the two would stand in each
// other's way. What a stream waits for keeps its place, because its client asks for it again under its number.
func (m *Desk) withdraw(now protocol.Time, p *presence, out *protocol.Effects) {
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
	waiting []lock.SessionID
	until   protocol.Time // they wait for no longer
}

// wake is when they are waited for no longer; Never where there is none.
func (w *partings) wake() protocol.Time {
	if len(w.waiting) == 0 {
		return protocol.Never
	}
	return w.until
}

// partLater has a session wait until it is dismissed. What its client asks for meanwhile, it asks for again then.
func (m *Desk) partLater(p *presence) {
	p.parting = true
	m.closing.parting.waiting = append(m.closing.parting.waiting, p.id)
}

// dismissParting dismisses those that wait for it, if the time has come.
func (m *Desk) dismissParting(now protocol.Time, out *protocol.Effects) {
	w := &m.closing.parting
	if len(w.waiting) == 0 || now < w.until && !m.stepDown(now, out) {
		return
	}
	waiting := w.waiting
	w.waiting = nil
	for _, id := range waiting {
		if p := m.sessions[id]; p != nil {
			m.endAway(now, p, m.closing.refusal(), out)
		}
	}
}
