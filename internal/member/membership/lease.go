package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// standing is what this member may act on.
type standing struct {
	lease  protocol.Lease // updated in place: machines above point to it
	leased bool
	begun  protocol.Time // when the tenure began: with the member, or where the one before had lapsed
	// carrying says that something may be held that the authority of the newest epoch
	// does not know yet: Lease.Carried stays where it was.
	carrying  bool
	confirmed []protocol.Port // have confirmed the newest epoch
	heard     protocol.Time   // when the coordinator was last known to be well
	followed  bool            // heard means something
	doubted   bool            // a hint says that the coordinator is dead
}

// expire ends what time has ended.
func (m *Machine) expire(now protocol.Time, out *protocol.Effects) {
	if m.reign != nil && now >= m.lease.Role {
		m.cease(now, out)
	}
	if m.leased && now >= m.lease.Member {
		m.lapse(now, out)
	}
}

// lapse ends every grant, and takes the next tenure: what has ended is never renewed
// (V12, V19).
func (m *Machine) lapse(now protocol.Time, out *protocol.Effects) {
	m.leased, m.carrying, m.begun = false, false, now
	lent := min(max(m.lease.Member, now), now+m.config.Lease) // a tenure that is dropped may end before its lease does
	m.lease.Member = min(m.lease.Member, now)
	m.lease.Carried = m.lease.Member
	if !protocol.Mutated("same tenure after a lapse") {
		m.lease.Tenure.Lapses++
	}
	if m.given.Clients {
		// The clients of the tenure that has ended believe for as long as they were
		// promised. A restart within that time must wait for them too.
		m.owe(lent+m.given.Confirmed, protocol.ReachOf(m.given.Confirmed))
		m.setPromises()
		m.remember()
	}
	m.said, m.recorded = nil, 0 // the next tenure has pledged nothing yet
	out.Raise(&protocol.Lapsed{Tenure: m.lease.Tenure})
	if m.horizon.Confirmed > 0 {
		m.horizon.Confirmed = 0
		lowered := m.horizon
		out.Raise(&lowered)
	}
}

// endUnleased takes the next tenure, where this one has a place and never had a lease. No lease has ended that place, though other
// members may have gone on without it. A quorum that remembers this gives the member another place. Where no quorum is asked for, the
// old place would come back, and with it the role that the member had there: that of a leader in protocol bakery (V29).
func (m *Machine) endUnleased(now protocol.Time, out *protocol.Effects) {
	place, listed := m.cell.Accepted.Of(m.self)
	if listed && place.Tenure == m.lease.Tenure && !m.leased && !protocol.Mutated("a place without a lease outlives a quorum") {
		m.lapse(now, out)
	}
}

// extend moves the ends of the lease. It never moves one back.
func (m *Machine) extend(until protocol.Time) {
	if !m.leased {
		m.lease.Carried = until
	}
	m.leased = true
	m.lease.Member = max(m.lease.Member, until)
	m.carry()
}

// carry lets what may be held from earlier epochs follow the lease, once the authority
// of this one knows of it (V13).
func (m *Machine) carry() {
	if m.leased && (!m.carrying || protocol.Mutated("unconfirmed grants renewed")) {
		m.lease.Carried = m.lease.Member
	}
}

// beginEpoch: the authority of a new epoch knows nothing yet of what is held here.
func (m *Machine) beginEpoch() {
	m.carrying = m.leased
	m.confirmed = m.confirmed[:0]
}

// onConfirmed: a space's authority knows all that this member's clients hold in it.
func (m *Machine) onConfirmed(port protocol.Port, fact *protocol.Confirmed) {
	if m.cell.Accepted == nil || fact.Epoch != m.cell.Accepted.Epoch.Counter {
		return
	}
	for _, known := range m.confirmed {
		if known == port {
			return
		}
	}
	m.confirmed = append(m.confirmed, port)
	if m.reported() {
		m.carrying = false
		m.carry()
		m.hasten()
	}
}

// reported says that every space's authority knows what is held here.
func (m *Machine) reported() bool { return len(m.confirmed) >= m.config.Spaces }

// limit is how long silence of the coordinator is patiently heard.
func (m *Machine) limit() time.Duration {
	if m.doubted {
		return 2 * m.config.poll()
	}
	return m.config.silence()
}

// well reports whether this member's coordinator is well as far as it knows. Asked by
// the coordinator itself it is not: the asker has lost its role. Any other member
// that asks has suspected it for S; that this member has not heard of it for a little
// less is enough to agree, or every election would fail once.
func (m *Machine) well(now protocol.Time, from protocol.ID) bool {
	if m.reign != nil {
		return m.alone() || now < m.reign.anchor+m.config.silence()
	}
	limit := m.limit()
	if from != m.self {
		limit -= m.config.poll() / 2
	}
	return m.leased && m.followed && now < m.heard+limit && from != m.coordinator
}
