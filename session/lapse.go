package session

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// endTenure ends the clients' sessions because the tenure that opened them has ended
// (membership.md §6, V20). What they held was told to be lost by their spaces. The
// sessions of this process go on without what they held: they end with the process.
func (m *Desk) endTenure(now protocol.Time, out *protocol.Effects) {
	for _, id := range slices.SortedFunc(maps.Keys(m.sessions), compareIDs) {
		if p := m.sessions[id]; p != nil && p.sort != Local && !protocol.Mutated("session outlives its tenure") {
			m.outlive(p)
			m.endAway(now, p, errNoLease, out)
		}
	}
	m.lapsed = false
	m.answerParked(now, out)
	m.sink(now, out)
}

// endAway ends a session whose client shall go on at another member.
func (m *Desk) endAway(now protocol.Time, p *presence, why error, out *protocol.Effects) {
	p.away = why
	m.end(now, p, holdfast.MemberLost, out)
}

// beliefs are the promises to clients whose sessions have ended here before their
// deadlines. They count until then: whoever waits for this member's clients must wait
// for these, too (membership.md §5, V7).
type beliefs struct {
	due     expiryQueue
	classes map[lock.SessionID]int
}

// outlive keeps the promise that p has beyond its end.
func (m *Desk) outlive(p *presence) {
	if p.class < 0 {
		return
	}
	if m.beliefs.classes == nil {
		m.beliefs.classes = map[lock.SessionID]int{}
	}
	m.beliefs.classes[p.id] = p.class
	m.classes[p.class]++
	m.beliefs.due.Push(p.expires, sessionKey(p.id))
}

// endBeliefs forgets the promises that nobody believes in any more.
func (m *Desk) endBeliefs(now protocol.Time, out *protocol.Effects) {
	ended := false
	for m.beliefs.due.First() <= now {
		id := lock.SessionID(m.beliefs.due.Pop().Key)
		m.classes[m.beliefs.classes[id]]--
		delete(m.beliefs.classes, id)
		ended = true
	}
	if ended {
		m.sink(now, out)
	}
}

// endExcess ends sessions that have lost more than is kept for telling them. Their
// clients find that out when they return.
func (m *Desk) endExcess(now protocol.Time, out *protocol.Effects) {
	excess := m.excess
	m.excess = nil
	for _, p := range excess {
		if m.sessions[p.id] == p {
			m.outlive(p)
			m.endAway(now, p, errExcess, out)
		}
	}
}
