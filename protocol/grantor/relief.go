package grantor

import "github.com/holdfast-locks/holdfast/protocol"

// Two members of a view may not hear each other, though the coordinator hears both: then no view will ever drop one of
// them. The elder coordinates, so it hears every member, or drops it. A member that waits in vain for another one of
// the view therefore asks the elder to become the grantor (H6: no member waits forever for a silent one). If only one
// direction between them is cut, the one that does not hear knows: the grantor that repeats a message to a holder, or
// the holder that asks.

// patienceWithSilence is how long a member in the view is waited for, in units of patience: longer than a view takes to
// drop a member that is gone.
const patienceWithSilence = 16

// silent is since when this member waits in vain, or Never.
func (m *Machine) silent() protocol.Time {
	at := m.part.Silent()
	if m.successor != nil && !m.successor.lost {
		at = min(at, m.successor.since)
	}
	if at == protocol.Never {
		return at
	}
	return max(at, m.relieved)
}

func (m *Machine) reliefWake() protocol.Time {
	at := m.silent()
	if at == protocol.Never || m.successor == nil && m.elderPlace() == m.own() && m.reign.Authority == m.self {
		return protocol.Never // the membership will drop any member that is not heard
	}
	return at + patienceWithSilence*m.config.Patience
}

// relieve ends a wait that has been in vain for long.
func (m *Machine) relieve(now protocol.Time, out *protocol.Effects) {
	if now < m.reliefWake() || !m.admitted() {
		return
	}
	m.relieved = now
	switch {
	case m.successor != nil:
		m.loseTable(now, out)
	case m.elderPlace() == m.own():
		m.becoming = true
	default:
		m.lastInvite++
		m.relief = m.lastInvite
		out.Send(m.elderPlace().ID, Invite{Tenure: m.view.Lease.Tenure, Number: m.lastInvite})
	}
}

// onRelieved asks the elder which member grants, once it has reported that it does. No other member would report it:
// the previous one is not heard.
func (m *Machine) onRelieved(now protocol.Time, from protocol.ID, out *protocol.Effects) {
	m.relief = 0
	if m.admitted() && m.seek == nil && m.successor == nil && m.reign.Authority != m.self && m.reign.Authority != from {
		m.ask(now, Get, out)
	}
}
