package grantor

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// A member whose instance of the space is closed grants nothing more. When nothing of its own clients is left, a
// grantor looks for a successor (the original's design: the member with the most locks), and continues to grant until
// one has been named. A member that is about to leave the view does so at once, regardless of its clients' locks: it is
// a holder until it leaves.

// leaving is a grantor's search for a successor.
type leaving struct {
	candidates []protocol.ID // who is asked next, those with the most locks first
	pending    bool          // one is being asked
}

// patienceOfDeparture is how long a member that is about to leave waits for one candidate,
// in units of patience.
const patienceOfDeparture = 4

// tendLeaving continues the end of this member's role as grantor.
func (m *Machine) tendLeaving(now protocol.Time, out *protocol.Effects) {
	closed := m.part.Closed()
	if closed || m.departing {
		m.stepDown(out)
	} else if m.leaving != nil {
		m.endLeaving() // it was opened again
	}
	if closed {
		m.tendClosing(now, out)
	}
	if m.departing && !m.part.Closing() {
		m.depart(now, out)
	}
}

// onStepDown starts to hand over, and reports whether there is anything left to hand over.
func (m *Machine) onStepDown(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.departing = true
	m.tendLeaving(now, out)
	out.Reply(call, &protocol.SteppedDown{Pending: m.handing()})
}

// handing reports whether another member is about to be the grantor. A candidate that this member has asked reports
// when it serves; any other one has the table when all of it was sent.
func (m *Machine) handing() bool {
	leaving := slices.ContainsFunc(m.transfers, func(t *transfer) bool { return t.leaving })
	exhausted := m.leaving != nil && !m.leaving.pending && len(m.leaving.candidates) == 0
	switch b := m.handover; {
	case m.successor != nil || m.seek != nil || leaving:
		return true
	case b != nil:
		return b.handover != nil && !b.sent
	}
	return m.reign.Authority == m.self && m.part.Serves() && !exhausted
}

// depart hands the table over, before this member leaves the view. An elder that grants also hands over an empty one:
// the next elder could not distinguish it from a lost one. If no member succeeds, the reign continues to the end, and
// another member recovers it.
func (m *Machine) depart(now protocol.Time, out *protocol.Effects) {
	if m.successor != nil || m.seek != nil || m.reign.Authority != m.self || !m.part.Serves() || !m.admitted() {
		return
	}
	if m.leaving == nil {
		if m.part.Empty() && m.elderPlace().ID != m.self {
			m.part.Freeze()
			m.ask(now, Clear, out)
			return
		}
		m.leaving = &leaving{candidates: m.part.Candidates(now)}
	}
	if !m.leaving.pending {
		m.askCandidate(now, patienceOfDeparture, out)
	}
}

// tendClosing continues the closing of the space here, and reports its end.
func (m *Machine) tendClosing(now protocol.Time, out *protocol.Effects) {
	if !m.part.Closing() || !m.gone(now, out) {
		return
	}
	m.endLeaving()
	m.part.Conclude(out)
}

// endLeaving stops looking for a successor.
func (m *Machine) endLeaving() {
	m.leaving = nil
	m.transfers = slices.DeleteFunc(m.transfers, func(t *transfer) bool { return t.leaving })
}

// gone reports whether this member no longer has a role as grantor, and takes the next step to that end. It waits for a
// reign that has not begun: its recovery would have to be repeated.
func (m *Machine) gone(now protocol.Time, out *protocol.Effects) bool {
	switch {
	case m.successor != nil || m.seek != nil:
		return false
	case m.handover != nil:
		return m.handover.sent || m.handover.handover == nil
	case m.reign.Authority != m.self:
		return true
	case !m.part.Serves() || !m.admitted():
		return false
	}
	switch {
	case m.part.Empty():
		m.part.Freeze()
		m.ask(now, Clear, out)
	case m.leaving == nil:
		m.leaving = &leaving{candidates: m.part.Candidates(now)}
		m.askNext(now, out)
	case !m.leaving.pending:
		m.askNext(now, out)
	}
	return m.reign.Authority != m.self && m.handover == nil
}

// askCandidate asks the next candidate to succeed, for a number of patiences, and reports whether there is one.
func (m *Machine) askCandidate(now protocol.Time, patience time.Duration, out *protocol.Effects) (found bool) {
	l := m.leaving
	for len(l.candidates) > 0 {
		next := l.candidates[0]
		l.candidates = l.candidates[1:]
		if _, listed := m.placeOf(next); listed {
			l.pending = true
			m.invite(now, &transfer{to: next, leaving: true, due: protocol.Never, deadline: now + patience*m.config.Patience}, out)
			return true
		}
	}
	return false
}

// askNext asks the next candidate to succeed. When there is none left, it informs the elder that locks are left behind:
// the next grantor recovers them.
func (m *Machine) askNext(now protocol.Time, out *protocol.Effects) {
	if m.askCandidate(now, patienceOfTransfer, out) {
		return
	}
	m.leaving = nil
	m.part.Freeze()
	m.ask(now, ClearWithLocks, out)
}

// clearing reports whether the message to the elder that this reign has ended is under way.
func (m *Machine) clearing() bool {
	return m.seek != nil && (m.seek.question.Kind == Clear || m.seek.question.Kind == ClearWithLocks)
}

// retire ends a reign that the elder has taken back, or may have.
func (m *Machine) retire(now protocol.Time, out *protocol.Effects) {
	m.leaving = nil
	if m.reign.Authority == m.self {
		m.forget(now, out)
		m.unpark(now, out)
	}
}

// stepDown answers requests to become the grantor, while the space is closed here or this member is about to leave.
func (m *Machine) stepDown(out *protocol.Effects) {
	m.becoming = false
	for _, i := range m.invited {
		if m.present(i.from) {
			out.Send(i.from.ID, Invited{Tenure: i.from.Tenure, Number: i.number, Closed: m.part.Closed()})
		}
	}
	m.invited = nil
}
