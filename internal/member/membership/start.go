package membership

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// begin derives this life's cell from the last one's, and sets the necessary waits.
func (m *Machine) begin() {
	c, fresh := m.config, m.cell.Incarnation == 0
	m.starting, m.wanted = true, true
	if fresh {
		m.forgotten = Second(c.Wall) - 1
		if m.cell.ID == 0 {
			m.cell.ID, m.cell.Cluster = Draw(c.Rand)
		}
		if protocol.Mutated("id from the name") {
			m.cell.ID = named(c.Name)
		}
	}
	m.self = m.cell.ID
	m.forget()
	m.cell.Incarnation++
	m.lease.Promised = m.cell.Promised
	m.lease.Tenure = protocol.Tenure{Incarnation: m.cell.Incarnation}
	if !protocol.Mutated("surveys are numbered through all lives") {
		m.surveys = (m.cell.Incarnation - 1) << protocol.NumberBits
	}
	switch {
	case c.Kept && !fresh && !c.Cell.Clean:
		// The former life's clients believe, even if this one serves none.
		reach := max(c.Cell.Owed, c.Cell.Pledges.LongestOf(m.self))
		m.owe(m.config.stretch(m.leaseUnder(c.Cell.Accepted))+reach.Span(), reach)
	case !c.Kept && c.Serves && c.alone():
		// No other member remembers a former life of this one.
		m.owe(m.config.stretch(c.Lease), 0)
	}
	m.setPromises()
	if m.startsAlone() {
		m.cell.Promised, m.cell.Candidate = m.above(true, 0), m.self
		m.lease.Promised = m.cell.Promised
	}
}

// forget drops the member's memory, which a real member must never do.
func (m *Machine) forget() {
	if protocol.Mutated("promise forgotten") {
		m.cell.Promised, m.cell.Candidate = 0, 0
	}
	if protocol.Mutated("acceptance forgotten") {
		m.cell.Accepted = nil
		m.cell.Promised, m.cell.Candidate = 0, 0 // one remembers the other
	}
}

// startsAlone reports whether this member is a quorum by itself, so that it need not ask any other.
func (m *Machine) startsAlone() bool {
	if !m.config.alone() {
		return false
	}
	v := m.cell.Accepted
	return v == nil || election.Quorums(v.Needs(), func(id protocol.ID) bool { return id == m.self })
}

func (m *Machine) start(now protocol.Time, out *protocol.Effects) {
	m.tryAt, m.begun = now, now
	m.expect(now)
	if !m.startsAlone() {
		return
	}
	// A start alone is an election by full attendance, with a single write.
	ballot := &election.Ballot{Epoch: m.cell.promised(), Sent: now, View: m.cell.Accepted, Terms: m.terms, Attendance: m.cell.Accepted == nil}
	ballot.Take(m.promise(now, ballot.Epoch), now)
	m.win(now, ballot, ballot.Count(m.self, m.rules), out)
}

// started runs once the cell of this start is written.
func (m *Machine) started(now protocol.Time, _ *protocol.Effects) {
	if m.reign == nil {
		m.tryAt = now
	}
}

// named returns an id derived from the name, which a member must not have: it would be the same in a life that has
// forgotten the last one's promises (V14).
func named(name string) protocol.ID {
	id := protocol.ID(1)
	for _, c := range []byte(name) {
		id = id<<8 | protocol.ID(c)
	}
	return id
}

// Draw draws the permanent ids of a member's first life: its own, and its cluster's. A caller that needs the former
// before the machine is made passes a Cell with just these two.
func Draw(r *rand.Rand) (member protocol.ID, cluster uint64) {
	member = protocol.ID(nonzero(r))
	return member, nonzero(r)
}

func nonzero(r *rand.Rand) uint64 {
	for {
		if n := r.Uint64(); n != 0 {
			return n
		}
	}
}

// Second returns the second of a wall clock as an epoch, for members without memory: seconds since Origin, and at least
// 1.
func Second(wall time.Duration) uint64 {
	return uint64(max(1, int64(wall/time.Second)-Origin))
}

// above returns a counter above every one that this member knows. If a member may have forgotten some, only the wall
// clock is above all of them (V17).
func (m *Machine) above(forgotten bool, now protocol.Time) uint64 {
	counter := max(m.cell.Promised, m.cell.Floor, m.seen) + 1
	if forgotten && !protocol.Mutated("epoch from memory") {
		counter = max(counter, Second(m.wall(now)))
	}
	return counter
}

// wall returns the wall clock, as far as its reading at the start allows. It is never ahead: tokens from a future
// second would go back in a life that has forgotten them. After a long time it may be far behind, and below epochs that
// others have served and forgotten since; so they report where they began, see bygone.
func (m *Machine) wall(now protocol.Time) time.Duration {
	return m.config.Wall + time.Duration(float64(now)/(1+m.config.Drift))
}

// bygone returns the highest epoch that this member has promised or can have forgotten. A member that begins without a
// cell may have followed any epoch up to the second of its start: a candidate that has heard that is above all of them
// (V17).
func (m *Machine) bygone() protocol.Epoch {
	promised := m.cell.promised()
	if m.config.Founder && m.forgotten > promised.Counter && !protocol.Mutated("epoch from memory") {
		return protocol.Epoch{Counter: m.forgotten}
	}
	return promised
}

// countOf returns the initial token count: the fraction of the wall clock's second if the epoch is from it, in 2⁻³⁰ s,
// so that half of a reign's tokens are left even at the end of a second.
func countOf(wall time.Duration, epoch uint64) uint32 {
	if epoch != Second(wall) {
		return 0
	}
	return uint32(uint64(wall%time.Second) << 30 / uint64(time.Second))
}
