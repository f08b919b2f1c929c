package membership

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// begin makes this life's cell of the last one's, and says what must be waited for.
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
		// The former life's clients believe, whether or not this one serves any.
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

// forget drops the member's memory, which it must never do.
func (m *Machine) forget() {
	if protocol.Mutated("promise forgotten") {
		m.cell.Promised, m.cell.Candidate = 0, 0
	}
	if protocol.Mutated("acceptance forgotten") {
		m.cell.Accepted = nil
		m.cell.Promised, m.cell.Candidate = 0, 0 // one remembers the other
	}
}

// startsAlone reports whether this member is a quorum by itself, so that no other need
// be asked which one it follows.
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
	// A start alone is an election by full attendance, with one write for all of it.
	ballot := &election.Ballot{Epoch: m.cell.promised(), Sent: now, View: m.cell.Accepted, Terms: m.terms, Attendance: m.cell.Accepted == nil}
	ballot.Take(m.promise(now, ballot.Epoch), now)
	m.win(now, ballot, ballot.Count(m.self, m.rules), out)
}

// started: the cell of this start is written.
func (m *Machine) started(now protocol.Time, _ *protocol.Effects) {
	if m.reign == nil {
		m.tryAt = now
	}
}

// named is the id that a member must not have: the same one in a life that has forgotten
// the last one's promises (V14).
func named(name string) protocol.ID {
	id := protocol.ID(1)
	for _, c := range []byte(name) {
		id = id<<8 | protocol.ID(c)
	}
	return id
}

// Draw draws the ids that a member has from its first life on: its own, and its cluster's. Who must know the first
// before the machine is made gives it a Cell that has both, and nothing else.
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

// Second returns the second of a wall clock from which epochs count where none is remembered:
// seconds since Origin, and at least 1.
func Second(wall time.Duration) uint64 {
	return uint64(max(1, int64(wall/time.Second)-Origin))
}

// above returns a counter above every one that this member knows. Where a member may
// have forgotten what it knew, only the wall clock is above all that (V17).
func (m *Machine) above(forgotten bool, now protocol.Time) uint64 {
	counter := max(m.cell.Promised, m.cell.Floor, m.seen) + 1
	if forgotten && !protocol.Mutated("epoch from memory") {
		counter = max(counter, Second(m.wall(now)))
	}
	return counter
}

// wall is the wall clock, as far as its reading at the start allows. It is
// never ahead: tokens from a second that is still to come would go back in a life that
// has forgotten them. It may be far behind after a long time, and below epochs that
// others have served and forgotten since; so they report where they began, see bygone.
func (m *Machine) wall(now protocol.Time) time.Duration {
	return m.config.Wall + time.Duration(float64(now)/(1+m.config.Drift))
}

// bygone is the highest epoch that this member has promised or can have forgotten. A
// member that begins without a cell may have followed any epoch up to the second of its
// start: one that elects itself after having heard that is above all of them (V17).
func (m *Machine) bygone() protocol.Epoch {
	promised := m.cell.promised()
	if m.config.Founder && m.forgotten > promised.Counter && !protocol.Mutated("epoch from memory") {
		return protocol.Epoch{Counter: m.forgotten}
	}
	return promised
}

// countOf returns where the count of tokens begins: at the fraction of the wall
// clock's second if the epoch was taken from it, in 2⁻³⁰ s, so that half of a
// reign's tokens are left even at the end of a second.
func countOf(wall time.Duration, epoch uint64) uint32 {
	if epoch != Second(wall) {
		return 0
	}
	return uint32(uint64(wall%time.Second) << 30 / uint64(time.Second))
}
