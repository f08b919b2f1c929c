package grantor

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// begin starts the reign for which the elder has named this member.
func (m *Machine) begin(now protocol.Time, msg *Info, out *protocol.Effects) {
	if m.reign.Authority == m.self && m.reign.Version == msg.Version {
		m.part.Recount(now, msg.Reign, msg.Count, out)
		return
	}
	if m.successor != nil && m.successor.lost {
		m.moved = msg.Version
	}
	m.heard, m.successor = msg.Version, nil
	if msg.Beginning == Inheriting {
		m.forget(now, out)
		m.successor = &successor{since: now, place: m.own(), version: msg.Version, previous: msg.Previous, reign: msg.Reign}
		out.Note(Waiting{Version: msg.Version, Previous: msg.Previous})
		m.requestTable(now, out)
		return
	}
	m.outlive(msg.Version)
	m.follow(now, m.own(), authority.Reign{
		Authority: m.self, Version: msg.Version, Settled: msg.Beginning == Settled, Number: msg.Reign, Count: msg.Count,
	}, out)
}

// onView handles the newest view. A reign continues as long as the view has its grantor; departed members are waited
// for no more.
func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	m.view, m.halted = view, false
	m.arrive(view)
	m.endReigns()
	if m.reign.Authority != 0 && !m.present(m.place) {
		m.reign, m.place = authority.Reign{}, Place{}
	}
	m.part.Follow(now, view, m.reign, out)
	if !m.admitted() {
		return
	}
	if m.departing && m.leaving != nil && !m.leaving.pending {
		m.leaving = nil // no member would succeed; there may be others now
	}
	m.turnQuestion(now, out)
	m.viewSuccessor(now, out)
	m.elderView(now, out)
	early := m.early
	m.early = nil
	for _, ev := range early {
		m.onReceive(now, ev, out)
	}
}

// over reports whether a reign has ended with the epoch in which it began, as every one does in mode any. Another epoch
// may have joined sides of a partition, and even one that has not gives places to members from a side of a lower epoch:
// they have holds that no earlier table has, under tokens up to there, and may know a version above that of a
// continuing reign. They would follow no grantor.
func (m *Machine) over(v authority.Version) bool {
	return m.config.Any && v.Epoch < m.view.Epoch.Counter
}

// endReigns ends everything of ended reigns: the one that this member follows or has, a table that it waits for, and
// one that it keeps for another member.
func (m *Machine) endReigns() {
	if m.over(m.reign.Version) {
		m.reign, m.place = authority.Reign{}, Place{}
	}
	if m.successor != nil && m.over(m.successor.version) {
		m.successor = nil
	}
	if m.handover != nil && m.over(m.handover.recipient.version) {
		m.handover = nil
	}
}

// onLapsed ends every role: all of them belonged to the tenure.
func (m *Machine) onLapsed(now protocol.Time, lapsed *protocol.Lapsed, out *protocol.Effects) {
	m.seek, m.seekFrom, m.successor, m.handover, m.elder, m.elderhood = nil, protocol.Never, nil, nil, nil, elderhood{}
	m.parked, m.early = nil, nil
	m.becoming = false
	if m.reign.Authority == m.self {
		m.reign, m.place = authority.Reign{}, Place{}
	}
	m.part.Lapse(now, lapsed.Tenure, out)
}

// onDepose stops granting, and confirms it.
func (m *Machine) onDepose(now protocol.Time, from protocol.ID, msg *Depose, out *protocol.Effects) {
	if !m.admitted() || m.elderPlace().ID != from || msg.Tenure != m.view.Lease.Tenure {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: it is not the elder", msg, from)})
		return
	}
	reigned := m.reign.Authority == m.self
	m.relinquish(now, msg, m.elderPlace(), out)
	out.Send(from, Deposed{Tenure: msg.Tenure, Version: msg.Version})
	if reigned && m.reign.Authority == 0 && !m.departing && !protocol.Mutated("a grantor deposed for one that has left asks") {
		m.ask(now, Get, out) // it may have confirmed under this view for those that wait with it, and they ask no more
	}
}

// relinquish makes way for another grantor. This member keeps its table for that one; a successor passes on the table
// that it receives; and a member without a table reports that when it is asked.
func (m *Machine) relinquish(now protocol.Time, msg *Depose, elder Place, out *protocol.Effects) {
	if !m.heard.Before(msg.Version) {
		return // it has before
	}
	to := recipient{place: msg.Grantor, version: msg.Version, elder: elder}
	switch {
	case m.successor != nil && m.successor.younger.place.ID == 0:
		m.successor.younger = to
		if m.successor.lost {
			m.pass(nil, out)
		}
	case m.reign.Authority == m.self && m.part.Serves():
		out.Note(Yielding{Version: m.reign.Version, To: msg.Version})
		m.handover = m.cutHandover(now, to, m.part.Relinquish(now))
	default:
		m.handover = m.cutHandover(now, to, nil)
	}
	m.becoming = false
	if m.present(msg.Grantor) {
		m.follow(now, msg.Grantor, authority.Reign{Authority: msg.Grantor.ID, Version: msg.Version}, out)
	} else { // it has left: its table waits for no member
		m.heard = msg.Version
		m.forget(now, out)
		m.viewSuccessor(now, out)
	}
	m.unpark(now, out)
}

// Waiting notes that a member was named, and waits for the table.
type Waiting struct {
	Version  authority.Version
	Previous Place
}

func (n Waiting) String() string {
	return fmt.Sprintf("named %v, waiting for the table of %v", n.Version, n.Previous)
}

// Yielding notes that a grantor has stopped for another.
type Yielding struct{ Version, To authority.Version }

func (n Yielding) String() string { return fmt.Sprintf("yielding %v to %v", n.Version, n.To) }
