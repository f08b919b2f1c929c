package authority

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The space's instance at one member can be closed, and opened again
// (protocol.CloseSpace). Its clients are told to stop, and nothing new is taken; what
// others have in the space, and this member's roles, are not touched by that.

// instance is the space at this member, as far as its own clients are concerned.
type instance struct {
	closed  bool
	closers []protocol.CallID // wait to be told that nothing of this member's is left
}

// errClosed is why nothing is taken any more.
func errClosed() error {
	return fmt.Errorf("%w: the space is closed on this member", holdfast.ErrUnavailable)
}

// closeSpace tells all of this member's clients to stop.
func (m *Machine) closeSpace(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.instance.closers = append(m.instance.closers, call)
	if m.instance.closed {
		return
	}
	m.instance.closed = true
	for m.holder.idle.first != nil {
		m.giveBack(now, m.holder.idle.first, out)
	}
	for _, s := range m.ownSessions(now) {
		revoke := &protocol.Revoke{Session: s, Why: holdfast.MemberLost}
		if m.deciding {
			m.authorityRevoke(now, revoke, out)
		} else {
			m.holderRevoke(now, revoke, out)
		}
	}
}

// openSpace takes wishes of this member's clients again.
func (m *Machine) openSpace(call protocol.CallID, out *protocol.Effects) {
	m.instance.closed = false
	for _, closer := range m.instance.closers {
		out.Reply(closer, &protocol.SpaceOpen{Open: true, Err: fmt.Errorf("%w: the space was opened again meanwhile", holdfast.ErrConflict)})
	}
	m.instance.closers = nil
	out.Reply(call, &protocol.SpaceOpen{Open: true})
}

// ownSessions lists the sessions of this member that have something in the space.
func (m *Machine) ownSessions(now protocol.Time) (sessions []lock.SessionID) {
	if m.deciding {
		for _, s := range m.authority.copySeats(now) {
			if protocol.ID(s.Session.Member) == m.self {
				sessions = append(sessions, s.Session)
			}
		}
	} else {
		for r := m.holder.all.first; r != nil; r = r.links[ofAll].next {
			if !r.whole {
				sessions = append(sessions, r.request.Session)
			}
		}
	}
	slices.SortFunc(sessions, func(a, b lock.SessionID) int { return cmp.Compare(a.Number, b.Number) })
	return slices.Compact(sessions)
}

// Closed reports whether the space's instance at this member is closed, or about to be.
func (m *Machine) Closed() bool { return m.instance.closed }

// Closing reports whether somebody waits to be told that nothing of this member's clients is
// left anywhere, and nothing is.
func (m *Machine) Closing() bool {
	if len(m.instance.closers) == 0 || len(m.holder.records) > 0 {
		return false
	}
	return !m.deciding || !m.authority.table.Serves(uint64(m.self))
}

// Conclude tells whoever has closed the space that it is.
func (m *Machine) Conclude(out *protocol.Effects) {
	for _, closer := range m.instance.closers {
		out.Reply(closer, &protocol.SpaceOpen{})
	}
	m.instance.closers = nil
}

// Foreign counts the holds and waits of other members in the table, each member's apart,
// those with the most first; ties by seniority. It is for an authority that leaves.
func (m *Machine) Foreign(now protocol.Time) (members []protocol.ID, any bool) {
	counts := map[protocol.ID]int{}
	for _, s := range m.authority.copySeats(now) {
		if id := protocol.ID(s.Session.Member); id != m.self {
			any = true
			counts[id]++
		}
	}
	for _, member := range m.view.Members {
		if member.ID != m.self {
			members = append(members, member.ID)
		}
	}
	slices.SortStableFunc(members, func(a, b protocol.ID) int { return cmp.Compare(counts[b], counts[a]) })
	return members, any
}
