package permission

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Dealings is what a member has to do with its peers.
type Dealings struct {
	// Holds and Waits are how many requests of its clients hold, and how many wait.
	Holds, Waits int
	// Defers is at how many names it lets peers wait though none of its clients holds: one
	// has asked before them.
	Defers int
	// Keeps is of how many names it keeps permissions (Config.Retain).
	Keeps int
}

// Dealings returns what this member has to do with its peers.
func (m *Machine) Dealings() Dealings {
	d := Dealings{Keeps: m.recent.count}
	//tidy:unordered they are counted
	for _, nm := range m.names {
		held := 0
		for _, r := range nm.active() {
			if r.Held {
				held++
			} else {
				d.Waits++
			}
		}
		d.Holds += held
		if held == 0 && len(nm.debts) > 0 && len(nm.active()) > 0 {
			d.Defers++
		}
	}
	return d
}

// Keeps reports whether this member keeps a peer's permission for a name.
func (m *Machine) Keeps(name string, of protocol.ID) bool {
	nm := m.names[name]
	return nm != nil && slices.Contains(nm.kept, of)
}

// Request returns which request of a client asks by a number, or has entered by it. None does that
// has ended, or has to wait for its turn at this member.
func (m *Machine) Request(number uint64) (session lock.SessionID, request uint64, waits bool) {
	r := m.active[number]
	if r == nil {
		return lock.SessionID{}, 0, false
	}
	return r.Key.Session, r.Key.ID, !r.Held
}

// Heard reports whether a peer's request has been taken in: everything that is stamped here from
// now on is younger, and needs the peer's permission.
func (m *Machine) Heard(from protocol.ID, r *Request) bool {
	if !m.standing.Admitted() || m.peerAt(from) < 0 {
		return false
	}
	p := &m.peers[m.peerAt(from)]
	return r.Tag == m.standing.TagOf(p.place) && p.clock >= r.Clock && !p.harmless
}
