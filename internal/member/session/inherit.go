package session

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A client that takes a session over inherits its holds. The previous client may still believe in them: the member has
// sent it TakenOver, which may not have arrived. So an inherited lock that the later client gives up stays taken until
// the previous client's deadline; then the release takes effect and is answered. The later client's own grants are free
// at once.

// giving is a release, or the end of a request, that waits until earlier clients no longer believe. The zero call has
// no answer.
type giving struct {
	key  recallKey
	call protocol.CallID
	fact any // its own *protocol.Release or *protocol.Cancel
}

// mostGiven is the maximum number of them in one session.
const mostGiven = 16_384

// inherit records that a session's holds belong to a client before the one that uses it from now on.
func (m *Machine) inherit(now protocol.Time, p *presence, out *protocol.Effects) {
	if now >= p.former {
		p.inherited = nil
	}
	p.former = max(p.former, p.expiresIfSet())
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		if m.config.lasts(port) {
			continue // it reports that itself
		}
		for _, of := range m.requestsOf(now, p, port, out) {
			if of.Token == 0 || of.ID >= SingleCall {
				continue
			}
			if p.inherited == nil {
				p.inherited = map[recallKey]bool{}
			}
			p.inherited[recallKey{port: port, request: of.ID, name: of.Name}] = true
		}
	}
}

// isInherited reports whether a hold was granted to an earlier client.
func (m *Machine) isInherited(p *presence, port protocol.Port, of *protocol.RequestOf) bool {
	switch {
	case of.Token == 0, of.ID >= SingleCall:
		return false
	case m.config.lasts(port):
		return of.Inherited || p.isUnconfirmed()
	}
	return p.inherited[recallKey{port: port, request: of.ID, name: of.Name}]
}

// believedUntil returns the time until which a client that lost the session to a takeover may believe in its holds.
// While a lasting space may not know of the later client there is no limit.
func (p *presence) believedUntil() protocol.Time {
	if p.isUnconfirmed() {
		return protocol.Never
	}
	return p.former
}

// isBelieved reports whether a client that lost the session to a takeover may still believe in one of its holds.
func (m *Machine) isBelieved(now protocol.Time, p *presence, out *protocol.Effects) bool {
	if now >= p.believedUntil() {
		return false
	}
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		for _, of := range m.requestsOf(now, p, port, out) {
			if m.isInherited(p, port, &of) {
				return true
			}
		}
	}
	return false
}

// inherits reports whether a call is about a hold that an earlier client may believe in. A lasting space may have one
// that this member does not know of yet: then it cannot be known to be the later client's own.
func (m *Machine) inherits(now protocol.Time, p *presence, call protocol.CallID, key recallKey, out *protocol.Effects) bool {
	if now >= p.believedUntil() || protocol.Mutated("an inherited name is kept for the client before") {
		return false
	}
	for _, of := range m.requestsOf(now, p, key.port, out) {
		if of.Name == key.name && (key.request == 0 || of.ID == key.request) && (key.token == 0 || of.Token == 0 || of.Token == key.token) {
			return m.isInherited(p, key.port, &of)
		}
	}
	return m.config.lasts(key.port) && call.Sink != 0 && call.Sink == p.sink
}

// keepsOne makes a Release or a Cancel wait until the clients before its sender no longer believe, and reports whether
// it waits or was refused.
func (m *Machine) keepsOne(now protocol.Time, p *presence, ev *protocol.Event, out *protocol.Effects) bool {
	g := giving{call: ev.Call}
	switch fact := ev.Fact.(type) {
	case *protocol.Release:
		kept := *fact
		g.key, g.fact = recallKey{ev.Port, fact.Request, fact.Name, fact.Token}, &kept
	case *protocol.Cancel:
		kept := *fact
		g.key, g.fact = recallKey{port: ev.Port, request: fact.Request, name: fact.Name}, &kept
	}
	if !m.inherits(now, p, ev.Call, g.key, out) {
		return false
	}
	at := slices.IndexFunc(p.given, func(other giving) bool { return other.key == g.key })
	switch {
	case at >= 0 && g.call != (protocol.CallID{}):
		p.given[at] = g // the latest call gets the answer
	case at >= 0:
	case len(p.given) >= mostGiven:
		m.refuse(ev.Call, p.id, g.key.request, g.key.name, &holdfast.LimitError{Limit: "recalls", Value: mostGiven}, out)
	default:
		p.given = append(p.given, g)
		m.remindGiven(p)
	}
	return true
}

// remindGiven schedules a check of a client's pending releases for when the clients before no longer believe.
func (m *Machine) remindGiven(p *presence) {
	if len(p.given) == 0 && (p.taking == nil || !p.taking.own) {
		return
	}
	if until := p.believedUntil(); until != protocol.Never {
		m.revokedDue.Push(until, sessionKey(p.id))
	}
}

// giveUp executes a client's pending releases of inherited holds, if the clients before no longer believe.
func (m *Machine) giveUp(now protocol.Time, p *presence, out *protocol.Effects) {
	if now < p.believedUntil() {
		m.remindGiven(p)
		return
	}
	given := p.given
	p.given, p.inherited = nil, nil
	for _, g := range given {
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: g.key.port, Call: g.call, Fact: g.fact}, out)
	}
}

// onRelease passes on the release of a hold, unless the client that uses it has to stop first.
func (m *Machine) onRelease(now protocol.Time, ev *protocol.Event, r *protocol.Release, out *protocol.Effects) {
	p := m.alive(now, r.Session)
	if p != nil && !m.isSuperseded(ev.Call.Sink) && (m.dropEntry(now, p, ev, r.Request, r.Name, out) || m.recallOne(now, p, ev, r, out) || m.keepsOne(now, p, ev, out)) {
		return
	}
	m.onHeld(now, ev, r.Session, r.Request, r.Name, out)
}

// onCancel passes on the end of a request, unless it holds a lock that an earlier client may believe in.
func (m *Machine) onCancel(now protocol.Time, ev *protocol.Event, c *protocol.Cancel, out *protocol.Effects) {
	if p := m.alive(now, c.Session); p == nil || m.isSuperseded(ev.Call.Sink) ||
		!m.dropEntry(now, p, ev, c.Request, c.Name, out) && !m.keepsOne(now, p, ev, out) {
		m.onHeld(now, ev, c.Session, c.Request, c.Name, out)
	}
}

// onExtend passes on a new hold limit. For a hold that an earlier client may believe in, it ends no sooner than that
// belief.
func (m *Machine) onExtend(now protocol.Time, ev *protocol.Event, e *protocol.Extend, out *protocol.Effects) {
	p := m.alive(now, e.Session)
	if p != nil && e.Hold > 0 && m.inherits(now, p, ev.Call, recallKey{ev.Port, e.Request, e.Name, e.Token}, out) {
		longer := *e
		longer.Hold = max(e.Hold, min(p.believedUntil(), now+m.stretch(m.config.MaxTTL))-now)
		ev = &protocol.Event{Kind: ev.Kind, Port: ev.Port, Call: ev.Call, Fact: &longer}
	}
	m.onHeld(now, ev, e.Session, e.Request, e.Name, out)
}

// endLater ends a session for the client at its stream while an earlier one may believe in its holds: its own holds end
// now, and the session with the inherited ones when that belief ends. It is not renewed again.
func (m *Machine) endLater(now protocol.Time, call protocol.CallID, p *presence, out *protocol.Effects) {
	if p.taking == nil {
		p.taking = &taking{}
		m.takings = append(m.takings, p)
	}
	p.taking.own, p.taking.by = true, p.attached.Attachment
	before := len(out.Replies)
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		for _, of := range m.requestsOf(now, p, port, out) {
			if m.isInherited(p, port, &of) {
				continue
			}
			cancel := &protocol.Cancel{Session: p.id, Name: of.Name, Request: of.ID}
			m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: cancel}, out)
		}
	}
	out.Reply(call, &Ended{Released: releasedOf(p, out.Replies[before:])})
	m.remindGiven(p)
}

// releasedOf returns the holds of a session that have been released.
func releasedOf(p *presence, replies []protocol.Reply) (of []Lost) {
	for _, reply := range replies {
		if d := reply.Decision; d.Kind == lock.Released && d.Session == p.id && d.Token != 0 {
			of = append(of, Lost{Port: reply.Port, Decision: d})
		}
	}
	return of
}
