package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// standing is this member's lease and what depends on it.
type standing struct {
	lease  protocol.Lease // updated in place: machines above point to it
	leased bool
	begun  protocol.Time // when the tenure began: with the member, or when the previous one lapsed
	// carrying reports that there may be holds that the authority of the newest epoch does not know yet: Lease.Carried
	// stays unchanged.
	carrying  bool
	confirmed []protocol.Port // spaces that have confirmed the newest epoch
	heard     protocol.Time   // when the coordinator was last known to be well
	followed  bool            // heard is valid
	doubted   bool            // a hint says that the coordinator is dead
}

// expire ends everything whose time has passed.
func (m *Machine) expire(now protocol.Time, out *protocol.Effects) {
	if m.reign != nil && now >= m.lease.Role {
		m.cease(now, out)
	}
	if m.leased && now >= m.lease.Member {
		m.lapse(now, out)
	}
}

// lapse ends every grant, and begins the next tenure: an ended tenure is never renewed (V12, V19).
func (m *Machine) lapse(now protocol.Time, out *protocol.Effects) {
	m.leased, m.carrying, m.begun = false, false, now
	lent := min(max(m.lease.Member, now), now+m.config.Lease) // a dropped tenure may end before its lease does
	m.lease.Member = min(m.lease.Member, now)
	m.lease.Carried = m.lease.Member
	if !protocol.Mutated("same tenure after a lapse") {
		m.lease.Tenure.Lapses++
	}
	if m.given.Clients {
		// The clients of the ended tenure believe as long as they were promised. A restart within that time must wait
		// for them too.
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

// endUnleased begins the next tenure if this one has a place and never had a lease. Such a place does not end with a
// lease, although other members may have continued without it. A quorum that remembers this gives the member another
// place. Without a quorum the old place would come back, and with it the member's role there: that of a leader in
// protocol bakery (V29).
func (m *Machine) endUnleased(now protocol.Time, out *protocol.Effects) {
	place, listed := m.cell.Accepted.Of(m.self)
	if listed && place.Tenure == m.lease.Tenure && !m.leased && !protocol.Mutated("a place without a lease outlives a quorum") {
		m.lapse(now, out)
	}
}

// extend moves the ends of the lease forward, never back.
func (m *Machine) extend(until protocol.Time) {
	if !m.leased {
		m.lease.Carried = until
	}
	m.leased = true
	m.lease.Member = max(m.lease.Member, until)
	m.carry()
}

// carry lets holds from earlier epochs follow the lease, once the authority of this one knows of them (V13).
func (m *Machine) carry() {
	if m.leased && (!m.carrying || protocol.Mutated("unconfirmed grants renewed")) {
		m.lease.Carried = m.lease.Member
	}
}

// beginEpoch resets the confirmations: the authority of a new epoch does not know the holds here yet.
func (m *Machine) beginEpoch() {
	m.carrying = m.leased
	m.confirmed = m.confirmed[:0]
}

// onConfirmed records that a space's authority knows all holds of this member's clients in it.
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

// reported reports whether every space's authority knows the holds here.
func (m *Machine) reported() bool { return len(m.confirmed) >= m.config.Spaces }

// limit returns how long the coordinator may be silent before this member suspects it.
func (m *Machine) limit() time.Duration {
	if m.doubted {
		return 2 * m.config.poll()
	}
	return m.config.silence()
}

// well reports whether this member's coordinator is well as far as it knows. If the coordinator itself asks, it is not:
// the asker has lost its role. Any other asker has suspected it for S; not having heard of it for a little less is
// enough to agree, or every election would fail once.
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
