package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// revocation is a grant that its holder has been asked to stop using.
type revocation struct {
	port     protocol.Port
	decision lock.Decision
	due      protocol.Time // when the holder has stopped at the latest
	number   int           // sequence number within the session
}

// revocations are those of one session. There may be as many as it has holds: a leaving member revokes everything.
type revocations struct {
	byRequest map[revokedKey]revocation
	count     int
	reminded  protocol.Time // the latest time for which a check is scheduled
}

type revokedKey struct {
	port    protocol.Port
	request uint64
}

// inOrder returns them in the order they were sent.
func (r *revocations) inOrder() []revocation {
	return slices.SortedFunc(maps.Values(r.byRequest), func(a, b revocation) int { return cmp.Compare(a.number, b.number) })
}

// routeRevoked records grants that the session must stop using, and removes those given up. A grant that is revoked
// again keeps its due time.
func (m *Machine) routeRevoked(now protocol.Time, p *presence, reply *protocol.Reply) {
	d, key := &reply.Decision, revokedKey{reply.Port, reply.Decision.Request}
	switch d.Kind {
	case lock.Released, lock.Lost:
		delete(p.revoked.byRequest, key)
	case lock.Revoked:
		if _, known := p.revoked.byRequest[key]; known {
			return
		}
		if p.revoked.byRequest == nil {
			p.revoked.byRequest = map[revokedKey]revocation{}
		}
		p.revoked.count++
		due := m.dueOf(now, p, reply.Port)
		p.revoked.byRequest[key] = revocation{port: reply.Port, decision: *d, due: due, number: p.revoked.count}
		if due != protocol.Never && due != p.revoked.reminded {
			p.revoked.reminded = due
			m.revokedDue.Push(due, sessionKey(p.id))
		}
	}
}

// dueOf returns the time until which the client of a session may believe in a grant revoked now, if it has not heard.
// In a lasting space another member may have renewed the session, for as long as the space keeps it. Any member answers
// a later beat after sending its pending revocations: so no promise from now on lasts longer than that.
func (m *Machine) dueOf(now protocol.Time, p *presence, port protocol.Port) protocol.Time {
	if p.expires == protocol.Never || p.lasting == nil || !m.config.lasts(port) || protocol.Mutated("another member may have renewed a holder") {
		return p.expires
	}
	return max(p.expires, now+m.stretch(p.lasting.ttl))
}

// remindRevoked schedules a check of a session's revoked grants, now that its client has been heard.
func (m *Machine) remindRevoked(p *presence, now protocol.Time) {
	if p.lasting == nil {
		return
	}
	//tidy:unordered it is asked whether there is one
	for _, r := range p.revoked.byRequest {
		if r.due <= now {
			m.revokedDue.Push(now, sessionKey(p.id))
			return
		}
	}
}

// endRevoked releases revoked grants whose holders no longer believe, although they have not confirmed.
func (m *Machine) endRevoked(now protocol.Time, out *protocol.Effects) {
	for m.revokedDue.First() <= now {
		p := m.sessions[lock.SessionID(m.revokedDue.Pop().Key)]
		if p == nil {
			continue
		}
		m.giveUp(now, p, out)
		for _, r := range p.revoked.inOrder() {
			if r.due > now {
				continue
			}
			if m.config.lasts(r.port) && p.expires <= r.due {
				continue // its client has sent nothing here since, and may not have heard
			}
			release := &protocol.Release{Session: p.id, Name: r.decision.Name, Token: r.decision.Token, Request: r.decision.Request}
			ev := &protocol.Event{Kind: protocol.Call, Port: r.port, Fact: release}
			if !m.keepsOne(now, p, ev, out) {
				m.pass(now, ev, out)
			}
		}
	}
}
