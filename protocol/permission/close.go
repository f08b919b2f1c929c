package permission

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The space's instance at one member can be closed, and opened again
// (protocol.CloseSpace). Its clients are told to stop, and nothing new is taken; as a peer it
// goes on answering, for without its permission nobody could enter.

// closeSpace tells all of this member's clients to stop.
func (m *Machine) closeSpace(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	if !m.instance.Close(call, m.config.Operators, out) {
		return
	}
	for _, s := range m.table.SessionsOf(uint64(m.self)) {
		m.table.RevokeSession(now, s, holdfast.MemberLost, holdfast.ErrUnavailable, &m.scratch)
	}
	m.tell(now, out)
}

// tellClosed tells whoever has closed the space that nothing of this member's is left.
func (m *Machine) tellClosed(out *protocol.Effects) {
	if m.instance.Awaited() && m.table.Holds()+m.table.Waiters() == 0 {
		m.instance.Conclude(out)
	}
}
