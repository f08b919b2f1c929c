package authority

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The space's instance at one member can be closed and reopened (protocol.CloseSpace). Its clients are notified to
// stop, and nothing new is accepted; other members' locks in the space, and this member's roles, are unaffected.

// instance is the space at this member, as far as its own clients are concerned.
type instance struct {
	protocol.Instance

	// sessions are those of this member that may have something in its own table, once they
	// were listed: since then nothing has come to it.
	sessions []lock.SessionID
	listed   bool
}

// closeSpace notifies all of this member's clients to stop.
func (m *Machine) closeSpace(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	i := &m.instance
	if !i.Close(call, m.config.Operators, out) {
		return
	}
	i.sessions, i.listed = nil, false
	for m.holder.idle.first != nil {
		m.giveBack(now, m.holder.idle.first, out)
	}
	if m.deciding {
		m.refuseVisits(now, func(*lock.Request) bool { return true }, protocol.ErrClosed(m.view, m.self), out)
	}
	for _, s := range m.ownSessions() {
		m.revokeSession(now, s, holdfast.SpaceClosed, protocol.ErrClosed(m.view, m.self), out)
	}
}

// ownSessions lists the sessions of this member that have something in the space.
func (m *Machine) ownSessions() (sessions []lock.SessionID) {
	if m.deciding {
		return m.authority.table.SessionsOf(uint64(m.self))
	}
	for r := m.holder.all.first; r != nil; r = r.links[ofAll].next {
		if !r.sessionEnd {
			sessions = append(sessions, r.request.Session)
		}
	}
	slices.SortFunc(sessions, func(a, b lock.SessionID) int { return cmp.Compare(a.Number, b.Number) })
	return slices.Compact(sessions)
}

// Closed reports whether the space's instance at this member is closed, or about to be.
func (m *Machine) Closed() bool { return m.instance.Closed() }

// Closing reports whether a CloseSpace waits for nothing of this member's clients to be
// left anywhere, and nothing is.
func (m *Machine) Closing() bool {
	i := &m.instance
	switch {
	case !i.Awaited() || len(m.holder.records) > 0:
		return false
	case !m.deciding:
		return true
	case !i.listed:
		i.sessions, i.listed = m.ownSessions(), true
	}
	for n := len(i.sessions); n > 0; n-- {
		if holds, waiters := m.authority.table.Session(i.sessions[n-1]); holds+waiters > 0 {
			return false
		}
		i.sessions = i.sessions[:n-1]
	}
	return true
}

// decide makes the table the only record of this member's clients.
func (m *Machine) decide() {
	m.deciding = true
	m.instance.sessions, m.instance.listed = nil, false
}

// Conclude answers the callers that have closed the space, when it is closed.
func (m *Machine) Conclude(out *protocol.Effects) { m.instance.Conclude(out) }

// Empty reports whether no request holds or waits in this member's table. It is for an authority that leaves, once
// nothing of its own clients is left.
func (m *Machine) Empty() bool { return m.authority.table.Holds()+m.authority.table.Waiters() == 0 }

// Candidates returns the other members of the view, those with the most holds and waits in this member's table first;
// ties by seniority.
func (m *Machine) Candidates(now protocol.Time) (members []protocol.ID) {
	counts := map[protocol.ID]int{}
	for _, s := range m.authority.copyEntries(now) {
		counts[protocol.ID(s.Session.Member)]++
	}
	for _, member := range m.view.Members {
		if member.ID != m.self {
			members = append(members, member.ID)
		}
	}
	slices.SortStableFunc(members, func(a, b protocol.ID) int { return cmp.Compare(counts[b], counts[a]) })
	return members
}
