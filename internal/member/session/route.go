package session

import (
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// route addresses the decision of reply i, and updates its session accordingly.
func (m *Machine) route(now protocol.Time, i int, out *protocol.Effects) {
	reply := &out.Replies[i]
	p := m.find(reply.Decision.Session)
	if p == nil {
		m.adoptions.keep(reply)
		return
	}
	if p.bill.owner != nil {
		p.track(reply)
	}
	called := reply.To
	if len(p.recalled) > 0 || p.taking != nil {
		own := m.hearRecalled(p, reply.Port, reply.Decision, called, out)
		reply = &out.Replies[i]
		if own {
			reply.To = protocol.CallID{}
			return
		}
	}
	if called.Sink == 0 {
		reply.To = p.reach(reply.Decision.Request)
		if away := m.goingAway(p); away != nil {
			p.divert(reply, away)
		}
	}
	if m.closing.stage != serving {
		m.closing.stir(p.id)
	}
	if reply.Decision.Kind == lock.Revoked || len(p.revoked.byRequest) > 0 {
		m.routeRevoked(now, p, reply)
	}
	if p.kind != OneShot {
		if p.back != nil {
			p.back.note(&reply.Decision)
		}
		p.keepCall(called, reply)
		if reply.Decision.Kind == lock.Lost && p.kind == Stream {
			m.keepLoss(now, p, reply)
		}
		return
	}
	m.routeOneShot(now, p, called, reply, out)
}

// goingAway returns why a session is about to end while its client continues elsewhere; nil if it is not.
func (m *Machine) goingAway(p *presence) error {
	if m.lapsed && p.kind != Local {
		return errNoLease
	}
	return p.away
}

// keepLoss keeps the losses sent to a stream, because the stream may break before its client has heard. A client that
// is alive when the session's present deadline has passed has been renewed by a later answer, and so has heard.
func (m *Machine) keepLoss(now protocol.Time, p *presence, reply *protocol.Reply) {
	if why := reply.Decision.Loss; why == holdfast.HoldLimit || p.expires == 0 {
		return // the client knows by its own clock, or the session ends
	}
	at := slices.IndexFunc(p.lost, func(l loss) bool { return l.Port == reply.Port && l.Decision.Request == reply.Decision.Request })
	if at >= 0 {
		p.lost[at].due = max(p.lost[at].due, p.expires) // a lasting space that was asked for the session repeats it
		return
	}
	if len(p.lost) >= maxLost {
		p.lost = slices.DeleteFunc(p.lost, func(l loss) bool { return l.due <= now })
	}
	if len(p.lost) >= maxStreamLost {
		m.excess = append(m.excess, p)
		return
	}
	p.lost = append(p.lost, loss{Lost{reply.Port, reply.Decision}, p.expires})
}

// routeOneShot reports to a session that can be reached only during a call, and tracks what keeps it alive.
func (m *Machine) routeOneShot(now protocol.Time, p *presence, called protocol.CallID, reply *protocol.Reply, out *protocol.Effects) {
	port, d := reply.Port, reply.Decision // as decided, not as sent
	if why := p.whyLost(port, d); why != "" {
		reply.Decision.Kind, reply.Decision.Err = lock.Refused, why
	}
	if reply.To.Sink == 0 && (d.Kind == lock.Lost || d.Kind == lock.Revoked) {
		if len(p.lost) >= maxLost {
			p.lost = slices.Delete(p.lost, 0, 1)
		}
		p.lose(loss{Lost{Port: port, Decision: d}, p.expires})
	}
	m.account(now, p, called, port, d, out)
}

// keepCall records the caller that waits for a request outside the session's own stream: a single call may name any
// session.
func (p *presence) keepCall(called protocol.CallID, reply *protocol.Reply) {
	d := &reply.Decision
	switch {
	case d.Kind != lock.Queued && len(p.waiting) == 0:
	case d.Kind != lock.Queued:
		delete(p.waiting, d.Request)
	case called.Sink != 0 && called.Sink != p.sink:
		p.await(d.Request, wait{called, reply.Port, d.Name})
	}
}

// reach returns where decisions about a request are sent.
func (p *presence) reach(request uint64) protocol.CallID {
	if w, waits := p.waiting[request]; waits {
		return w.call
	}
	if p.sink == 0 {
		return protocol.CallID{}
	}
	return protocol.CallID{Sink: p.sink, Op: request}
}

// How many losses a session remembers. Past maxLost a one-shot session forgets the oldest, and a release of that lock
// finds it not held. A stream must not continue without having heard, so its session ends at its bound.
const (
	maxLost       = 1024
	maxStreamLost = 16 * maxLost
)

// loss is a loss that the client may not have heard of.
type loss struct {
	Lost
	due protocol.Time // until when its client may believe in the hold; a stream that is alive then has heard
}

// lose records a loss that could not be reported, once per request.
func (p *presence) lose(lost loss) {
	for i := range p.lost {
		if known := &p.lost[i]; known.Port == lost.Port && known.Decision.Request == lost.Decision.Request {
			return
		}
	}
	p.lost = append(p.lost, lost)
}

// unreported returns the losses that the client has yet to hear of.
func (m *Machine) unreported(now protocol.Time, p *presence) []Lost {
	if p.kind == Stream {
		p.lost = slices.DeleteFunc(p.lost, func(l loss) bool { return l.due <= now })
	}
	var lost []Lost
	for i := range p.lost {
		lost = append(lost, p.lost[i].Lost)
	}
	return lost
}

// whyLost returns the loss of the grant that a release names, if it was lost.
func (p *presence) whyLost(port protocol.Port, d lock.Decision) holdfast.Loss {
	if d.Kind != lock.Released && (d.Kind != lock.Refused || !errors.Is(d.Err, holdfast.ErrNotHeld)) {
		return ""
	}
	for _, lost := range p.lost {
		if lost.Port == port && lost.Decision.Name == d.Name && lost.Decision.Token == d.Token {
			return lost.Decision.Loss
		}
	}
	return ""
}

// account tracks what keeps a one-shot session alive: the requests that hold and those that wait. It ends with the
// release of the last of them.
func (m *Machine) account(now protocol.Time, p *presence, called protocol.CallID, port protocol.Port, d lock.Decision, out *protocol.Effects) {
	_, waited := p.waiting[d.Request]
	_, lived := p.live[d.Request]
	switch d.Kind {
	case lock.Queued:
		if !waited {
			p.await(d.Request, wait{called, port, d.Name})
		}
		m.beatWhilePresent(now, p)
		return
	case lock.Granted:
		if p.live == nil {
			p.live = map[uint64]protocol.Port{}
		}
		p.live[d.Request] = port
	case lock.Revoked, lock.Released, lock.Lost:
		delete(p.live, d.Request)
	case lock.Refused:
		if called.Sink == 0 && m.config.lasts(port) {
			delete(p.live, d.Request) // it came through another member, and waited
		}
	}
	delete(p.waiting, d.Request)
	if p.expires == 0 || len(p.waiting) > 0 || len(p.entries) > 0 {
		return // already ending, or another request of it waits
	}
	if d.Kind == lock.Released && lived && len(p.live) == 0 && !p.outlastsLocks() {
		m.endReleased(now, p, port, out)
		return
	}
	if waited {
		p.expires = max(p.expires, now+m.stretch(p.ttl))
		m.remind(p)
	}
}
