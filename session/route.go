package session

import (
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// revocation is a grant that its holder was told to stop using.
type revocation struct {
	port     protocol.Port
	decision lock.Decision
	due      protocol.Time // when the holder has stopped at the latest
}

// route addresses the decision of reply i, and keeps account of what it means for
// its session.
func (m *Desk) route(now protocol.Time, i int, out *protocol.Effects) {
	reply := &out.Replies[i]
	p := m.find(reply.Decision.Session)
	if p == nil {
		return
	}
	called := reply.To
	if called.Sink == 0 {
		reply.To = p.reach(reply.Decision.Request)
	}
	if reply.Decision.Kind == lock.Revoked || len(p.revoked) > 0 {
		m.routeRevoked(p, reply)
	}
	if p.sort != OneShot {
		p.keepCall(called, &reply.Decision)
		return
	}
	m.routeOneShot(now, p, called, reply, out)
}

// routeRevoked keeps what the session must stop using, and forgets what it has given
// up.
func (m *Desk) routeRevoked(p *presence, reply *protocol.Reply) {
	switch d := &reply.Decision; d.Kind {
	case lock.Revoked:
		m.revoke(p, revocation{port: reply.Port, decision: *d, due: p.expires})
	case lock.Released, lock.Lost:
		p.revoked = slices.DeleteFunc(p.revoked, func(r revocation) bool {
			return r.port == reply.Port && r.decision.Request == d.Request
		})
	}
}

// routeOneShot tells a session that can be reached only while it asks, and keeps
// account of what it lives for.
func (m *Desk) routeOneShot(now protocol.Time, p *presence, called protocol.CallID, reply *protocol.Reply, out *protocol.Effects) {
	port, d := reply.Port, reply.Decision // as it was decided, and not as it is told
	if why := p.whyLost(port, d); why != "" {
		reply.Decision.Kind, reply.Decision.Err = lock.Refused, why
	}
	if reply.To.Sink == 0 && (d.Kind == lock.Lost || d.Kind == lock.Revoked) {
		p.lose(Lost{Port: port, Decision: d})
	}
	m.account(now, p, called, port, d, out)
}

// revoke keeps r until its holder has stopped. Told again, it is due when it was.
func (m *Desk) revoke(p *presence, r revocation) {
	for _, known := range p.revoked {
		if known.port == r.port && known.decision.Request == r.decision.Request {
			return
		}
	}
	p.revoked = append(p.revoked, r)
	if r.due != protocol.Never {
		m.revokedDue.push(r.due, p.id.Number)
	}
}

// keepCall remembers who waits for a request that did not come over the session's
// own stream: a single call may name any session.
func (p *presence) keepCall(called protocol.CallID, d *lock.Decision) {
	switch {
	case d.Kind != lock.Queued && len(p.waiting) == 0:
	case d.Kind != lock.Queued:
		delete(p.waiting, d.Request)
	case called.Sink != 0 && called.Sink != p.sink:
		if p.waiting == nil {
			p.waiting = map[uint64]protocol.CallID{}
		}
		p.waiting[d.Request] = called
	}
}

// reach says where the session can be told about a request.
func (p *presence) reach(request uint64) protocol.CallID {
	if call, waits := p.waiting[request]; waits {
		return call
	}
	if p.sink == 0 {
		return protocol.CallID{}
	}
	return protocol.CallID{Sink: p.sink, Op: request}
}

// maxLost is how many losses a session remembers. Past it the oldest is forgotten,
// and who releases that is told that it is not held.
const maxLost = 1024

// lose remembers what could not be told, once a request.
func (p *presence) lose(lost Lost) {
	for _, known := range p.lost {
		if known.Port == lost.Port && known.Decision.Request == lost.Decision.Request {
			return
		}
	}
	if len(p.lost) >= maxLost {
		p.lost = slices.Delete(p.lost, 0, 1)
	}
	p.lost = append(p.lost, lost)
}

// whyLost returns why the grant that a release was about had been lost, if it had.
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

// account keeps what a one-shot session lives for: the requests that hold and those
// that wait. With the release of the last of them it ends.
func (m *Desk) account(now protocol.Time, p *presence, called protocol.CallID, port protocol.Port, d lock.Decision, out *protocol.Effects) {
	_, waited := p.waiting[d.Request]
	_, lived := p.live[d.Request]
	switch d.Kind {
	case lock.Queued:
		if p.waiting == nil {
			p.waiting = map[uint64]protocol.CallID{}
		}
		if !waited {
			p.waiting[d.Request] = called
		}
		return
	case lock.Granted:
		if p.live == nil {
			p.live = map[uint64]protocol.Port{}
		}
		p.live[d.Request] = port
	case lock.Revoked, lock.Released, lock.Lost:
		delete(p.live, d.Request)
	}
	delete(p.waiting, d.Request)
	if p.expires == 0 || len(p.waiting) > 0 {
		return // ending already, or another request of it waits
	}
	if d.Kind == lock.Released && lived && len(p.live) == 0 {
		m.end(now, p, "", out)
		return
	}
	if waited {
		p.expires = max(p.expires, now+m.stretch(p.ttl))
		m.remind(p)
	}
}

// endRevoked releases revoked grants whose holders have stopped believing, though
// they have not said so.
func (m *Desk) endRevoked(now protocol.Time, out *protocol.Effects) {
	for m.revokedDue.first() <= now {
		p := m.sessions[m.revokedDue.pop()]
		if p == nil {
			continue
		}
		for _, r := range slices.Clone(p.revoked) {
			if r.due > now {
				continue
			}
			release := &protocol.Release{Session: p.id, Name: r.decision.Name, Token: r.decision.Token, Request: r.decision.Request}
			m.pass(now, protocol.Event{Kind: protocol.Call, Port: r.port, Fact: release}, out)
		}
	}
}
