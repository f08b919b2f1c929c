package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// reachOf returns how far beyond the lease others wait for a client that is promised ttl: zero if it has nothing that
// ends with this member.
func (m *Machine) reachOf(p *presence, ttl time.Duration) protocol.Reach {
	if !m.isBound(p, ttl) {
		return 0
	}
	return m.reachOfBound(ttl)
}

// reachOfBound returns how far beyond the lease a ttl reaches. A ttl up to the lease does not: the client then gets
// slightly less than it asked for, at no cost. For a longer one, two thirds of the lease are counted on, which normally
// remain of it: then a heartbeat gets the full requested ttl.
func (m *Machine) reachOfBound(ttl time.Duration) protocol.Reach {
	if ttl <= m.config.Lease {
		return 0
	}
	return protocol.ReachOf(m.stretch(ttl) - m.config.Lease*2/3)
}

// count records how far a session's client may believe beyond the lease: the maximum of all answers, until that has
// passed. A later, shorter answer counts from then on.
func (m *Machine) count(p *presence, reach protocol.Reach, now, until protocol.Time) {
	far, farUntil, next, nextUntil := p.far, p.farUntil, p.next, p.nextUntil
	if now >= farUntil {
		far, farUntil, next, nextUntil = next, nextUntil, 0, 0
	}
	switch {
	case now >= farUntil, !p.counted, protocol.Mutated("less is wanted, less is waited for"):
		far, farUntil, next, nextUntil = reach, until, 0, 0
	case reach >= far:
		far, farUntil, next, nextUntil = reach, max(until, farUntil, nextUntil), 0, 0
	case reach > 0:
		next, nextUntil = max(next, reach), max(nextUntil, until)
	}
	m.uncount(p)
	m.reaches[far]++
	p.far, p.farUntil, p.next, p.nextUntil, p.counted = far, farUntil, next, nextUntil, true
}

// uncount removes p's count: its promise is over, or is counted as another.
func (m *Machine) uncount(p *presence) {
	if p.counted {
		m.reaches[p.far]--
	}
	p.counted = false
}

// counted returns the longest reach that any client may believe.
func (m *Machine) counted() protocol.Reach {
	reach := protocol.MaxReach
	for reach > 0 && m.reaches[reach] == 0 {
		reach--
	}
	return reach
}

// sink lowers the horizon when the longest promise has passed.
func (m *Machine) sink(now protocol.Time, out *protocol.Effects) {
	if len(m.parked) > 0 || len(m.entering) > 0 || m.lapsed {
		return // a request waits for more, or more sessions are about to end
	}
	reach := max(m.counted(), m.kept.reach)
	believing := m.remote > 0 || len(m.beliefs.of) > 0 || m.kept.until > 0
	if want := reach.Span(); want < m.horizon.Confirmed || !believing && m.horizon.Clients {
		m.requestHorizon(now, protocol.NeedHorizon{Want: want, Clients: believing}, out)
	}
}
