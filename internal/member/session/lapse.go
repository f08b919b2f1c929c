package session

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// endTenure ends the clients' sessions because the tenure that opened them has ended: a renewal by the next tenure
// would let a client keep believing in locks that it does not know of (docs/design/membership.md §9, V20). The spaces
// have reported the locks as lost, except for lasting spaces: a client with something there continues elsewhere. The
// sessions of this process continue without their holds: they end with the process.
func (m *Machine) endTenure(now protocol.Time, out *protocol.Effects) {
	for _, id := range slices.SortedFunc(maps.Keys(m.sessions), compareIDs) {
		if p := m.sessions[id]; p != nil && p.kind != Local && !protocol.Mutated("session outlives its tenure") {
			m.outlive(p)
			m.endAway(now, p, errNoLease, out)
		}
	}
	m.lapsed, m.kept.reach, m.kept.until = false, 0, 0
	m.answerParked(now, out)
	m.sink(now, out)
}

// endAway ends a session whose client is to continue at another member, with the session if possible. If the client may
// not have heard of a loss, the session first waits until it no longer believes.
func (m *Machine) endAway(now protocol.Time, p *presence, why error, out *protocol.Effects) {
	if p.mayBelieve(now) && !protocol.Mutated("a leaver counts what is lost as stopped") {
		m.outlive(p)
	}
	p.away, p.dismissed = why, m.goesOn(p)
	m.end(now, p, holdfast.MemberLost, out)
}

// beliefs are the promises to clients whose sessions have ended here before their deadlines. They count until then: a
// member that waits for this one's clients must wait for these, too (docs/design/membership.md §9, V7).
type beliefs struct {
	due expiryQueue
	of  map[lock.SessionID]belief
}

type belief struct {
	reach protocol.Reach // beyond the lease
	until protocol.Time  // when its client no longer believes
}

// outlive keeps p's promise beyond its end, if a member has to wait for it. If the session was here before and has come
// back since, both count as one.
func (m *Machine) outlive(p *presence) {
	if !p.counted || m.config.allLast() {
		return
	}
	if m.beliefs.of == nil {
		m.beliefs.of = map[lock.SessionID]belief{}
	}
	b := belief{p.far, p.expires}
	if before, has := m.beliefs.of[p.id]; has {
		m.reaches[before.reach]--
		b = belief{max(b.reach, before.reach), max(b.until, before.until)}
	}
	m.beliefs.of[p.id] = b
	m.reaches[b.reach]++
	m.beliefs.due.Push(b.until, sessionKey(p.id))
}

// mayBelieve reports whether the session has lost something and its client may not have heard of it.
func (p *presence) mayBelieve(now protocol.Time) bool {
	return slices.ContainsFunc(p.lost, func(l loss) bool { return l.Decision.Kind == lock.Lost && l.due > now })
}

// endBeliefs forgets promises that no client believes any more.
func (m *Machine) endBeliefs(now protocol.Time, out *protocol.Effects) {
	ended := false
	for m.beliefs.due.First() <= now {
		id := lock.SessionID(m.beliefs.due.Pop().Key)
		b, has := m.beliefs.of[id]
		if !has || b.until > now {
			continue // it has ended, or lasts longer than when it was queued
		}
		m.reaches[b.reach]--
		delete(m.beliefs.of, id)
		ended = true
	}
	if ended {
		m.sink(now, out)
	}
}

// endExcess ends sessions with more losses than are kept for reporting. Their clients find out when they return; no
// member continues such a session.
func (m *Machine) endExcess(now protocol.Time, out *protocol.Effects) {
	excess := m.excess
	m.excess = nil
	for _, p := range excess {
		if m.sessions[p.id] == p {
			m.outlive(p)
			p.away = errExcess
			m.end(now, p, holdfast.MemberLost, out)
		}
	}
}
