package session

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// endIdle ends the sessions of clients that hold nothing, before the member leaves:
// whoever believes in such a session believes in no lock, so nobody need be waited
// for because of it.
func (m *Desk) endIdle(now protocol.Time, out *protocol.Effects) {
	for _, number := range slices.Sorted(maps.Keys(m.sessions)) {
		if p := m.sessions[number]; p != nil && p.sort != Local && !m.holds(now, p) {
			m.end(now, p, "", out)
		}
	}
}

// holds reports whether a session holds anything in any space.
func (m *Desk) holds(now protocol.Time, p *presence) bool {
	asked := protocol.Effects{}
	for port := 1; port <= m.config.Spaces; port++ {
		count := &protocol.CountHolds{Session: p.id}
		m.inner.Step(now, protocol.Event{Kind: protocol.Call, Port: protocol.Port(port), Fact: count}, &asked)
	}
	for _, reply := range asked.Replies {
		if reply.Result.(*protocol.Holds).Count > 0 {
			return true
		}
	}
	return false
}
