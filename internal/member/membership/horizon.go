package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// promises are the limits of this member's promises to clients (docs/design/membership.md §6).
type promises struct {
	horizon    protocol.Horizon     // the current limit
	given      protocol.Horizon     // the most promised earlier that is still needed
	need       protocol.NeedHorizon // the latest request
	requested  bool                 // a machine above is waiting for a Horizon
	heeded     bool                 // the coordinator has heard the latest request
	answeredAt protocol.Time        // the coordinator's first answer to the latest request
	answered   bool                 // answeredAt is valid
	said       []election.Pledge    // pledges of this tenure, from the oldest that some quorum may consider the newest
	recorded   uint64               // newest version that the quorums are known to have recorded
	most       protocol.Reach       // upper limit of a pledge
	round      uint64               // newest poll whose pledges were processed, in the accepted view's epoch
	roundOf    protocol.Epoch
	listed     uint64 // newest list of pledges of that epoch that was processed
	stored     uint64 // newest list that is written
	immediate  bool   // something cannot wait for the next poll

	wait protocol.Time  // until when clients may believe promises of an earlier life or tenure; 0 for none
	owed protocol.Reach // how far beyond its lease
}

// owe keeps the record in the cell, until a time, that clients believe, and how far.
func (m *Machine) owe(until protocol.Time, reach protocol.Reach) {
	m.wait = max(m.wait, until)
	m.owed = max(m.owed, reach)
}

// owes returns how much longer clients may believe the promises being waited for, by this member's clock: other members
// that wait stretch that themselves.
func (m *Machine) owes(now protocol.Time) time.Duration {
	if m.wait <= now {
		return 0
	}
	return m.config.shrink(m.wait - now)
}

// onNeedHorizon raises the limit for clients, once that is safely recorded; or lowers it, at once, regardless of the
// cell.
func (m *Machine) onNeedHorizon(need *protocol.NeedHorizon, out *protocol.Effects) {
	want := protocol.NeedHorizon{Want: min(need.Want, m.config.MaxHorizon), Clients: need.Clients}
	if m.exit.empty() {
		want = protocol.NeedHorizon{} // it has reported that it promises nothing any more
	}
	if want.Want > m.need.Want {
		m.answered, m.heeded = false, false
		m.hasten()
	}
	m.need = want
	m.requested, m.urgent = true, true
	m.lower(out)
	m.pledge()
	m.setPromises()
	m.remember()
}

// latest returns this tenure's newest pledge; its version is 0 if there is none.
func (m *Machine) latest() election.Pledge {
	if n := len(m.said); n > 0 {
		return m.said[n-1]
	}
	return election.Pledge{ID: m.self, Tenure: m.lease.Tenure}
}

// pledge makes a new pledge when the needs of clients have changed: a longer one up to the limit; a shorter one once
// the last is recorded and no client believes in more. So few are under way at a time.
func (m *Machine) pledge() {
	last, want := m.latest(), protocol.ReachOf(m.need.Want)
	if want > last.Reach {
		want = max(last.Reach, min(want, m.most))
	}
	if want == last.Reach || want < last.Reach && (m.recorded < last.Version || protocol.Mutated("pledges are never withdrawn")) {
		return
	}
	next := election.Pledge{ID: m.self, Tenure: m.lease.Tenure, Version: last.Version + 1, Reach: want}
	m.said = append(m.said, next)
	if m.reign != nil {
		m.enter(next)
	} else {
		m.cell.Pledges = m.cell.Pledges.With(next)
	}
	m.remember()
	if want > last.Reach {
		m.hasten()
	}
}

// lower reduces the promise to the latest request, before the cell is written: a promise must not exceed what a cell
// under way records.
func (m *Machine) lower(out *protocol.Effects) {
	lowered := m.within(m.horizon)
	m.given = m.within(m.given)
	if lowered != m.horizon {
		m.horizon = lowered
		raised := lowered
		out.Raise(&raised)
	}
}

// within returns the part of a horizon that is still needed.
func (m *Machine) within(h protocol.Horizon) protocol.Horizon {
	return protocol.Horizon{Confirmed: min(h.Confirmed, m.need.Want), Clients: h.Clients && m.need.Clients}
}

// setPromises makes the cell record whether there are promises. While an earlier life's or tenure's promises last, it
// keeps them: a restart during the wait must wait for them too.
func (m *Machine) setPromises() {
	m.cell.Owed, m.cell.Clean = 0, !m.need.Clients
	if m.wait > 0 {
		m.cell.Owed, m.cell.Clean = m.owed, false
	}
}

// onWaited lets the cell forget the promises of an earlier life or tenure.
func (m *Machine) onWaited(now protocol.Time, out *protocol.Effects) {
	if m.wait == 0 || now < m.wait {
		return
	}
	m.wait, m.owed = 0, 0
	m.lower(out)
	m.setPromises()
	m.remember()
}

// heedPledges applies a poll's information on pledges. A later round is newer, regardless of the order of arrival. This
// member itself is the authority on its own pledge.
func (m *Machine) heedPledges(p Poll, v *election.View) {
	if p.Epoch == m.roundOf && p.Seq <= m.round {
		return
	}
	if p.Epoch != m.roundOf {
		m.listed, m.stored, m.answered, m.heeded = 0, 0, false, false
	}
	m.roundOf, m.round, m.most = p.Epoch, p.Seq, p.Most
	if p.Pledges != nil && p.List != m.listed && (v == nil || !protocol.Mutated("view without its pledges")) {
		all := p.Pledges
		if own := m.latest(); own.Version > 0 {
			all = all.With(own)
		}
		m.cell.Pledges = all // even if nothing changed: a member that has written it has proved that it can write
		m.listed = p.List
		m.remember()
		m.immediate = m.immediate || v == nil // repeated when it is written
	}
	if p.Tenure == m.lease.Tenure {
		m.noteRecorded(p.Recorded)
		m.heeded = m.heeded || m.answered && p.Echo >= m.answeredAt
	}
	m.pledge()
}

// noteRecorded records that quorums have recorded the version of this tenure's pledge.
func (m *Machine) noteRecorded(version uint64) {
	m.recorded = max(m.recorded, version)
	known := m.known()
	for len(m.said) > 1 && m.said[1].Version <= known {
		m.said = slices.Delete(m.said, 0, 1)
	}
}

// known returns the newest version of this tenure's pledge known (or a newer one) both to its own next life and,
// without it, to any member that is elected.
func (m *Machine) known() uint64 {
	written := m.written.Pledges.Find(m.self, m.lease.Tenure).Version
	if protocol.Mutated("promised before it is recorded") {
		return written
	}
	return min(m.recorded, written)
}

// mayPromise returns how far beyond the lease this member's clients may believe now: the minimum over all versions of
// its pledge that a member may consider the newest.
func (m *Machine) mayPromise() time.Duration {
	known, least := m.known(), m.most
	if known == 0 {
		return 0
	}
	for _, pledge := range m.said {
		withdrawn := pledge.Version != known && pledge.Version != m.latest().Version
		if pledge.Version >= known && !(withdrawn && protocol.Mutated("a withdrawn pledge does not count")) {
			least = min(least, pledge.Reach)
		}
	}
	return least.Span()
}

// answerHorizon raises the limit when the cell records it and the others have heard: no further than needed, even if
// the cell has more.
func (m *Machine) answerHorizon(out *protocol.Effects) {
	if m.starting || m.saving {
		return
	}
	may := protocol.Horizon{
		Confirmed: min(m.mayPromise(), m.need.Want),
		Clients:   !m.written.Clean && m.need.Clients,
	}
	if m.failed != nil {
		may = m.horizon // unknown which bytes the disk has now
	}
	switch {
	case m.requested && m.decided(may):
		m.requested, m.horizon = false, may
		m.given = protocol.Horizon{Confirmed: max(m.given.Confirmed, may.Confirmed), Clients: m.given.Clients || may.Clients}
		raised := may
		raised.Answer = true
		out.Raise(&raised)
	case !m.requested && (may.Confirmed < m.horizon.Confirmed || m.horizon.Clients && !may.Clients):
		m.horizon.Confirmed = min(m.horizon.Confirmed, may.Confirmed)
		m.horizon.Clients = m.horizon.Clients && may.Clients
		raised := m.horizon
		out.Raise(&raised)
	}
}

// decided reports whether a request has its answer: granted, or impossible.
func (m *Machine) decided(may protocol.Horizon) bool {
	unattainable := m.attainable() < protocol.ReachOf(m.need.Want)
	switch {
	case m.failed != nil, may.Confirmed >= m.need.Want:
		return true
	case m.reign != nil:
		return m.alone() && m.known() == m.latest().Version || unattainable
	}
	return !m.leased || m.heeded && unattainable
}

// attainable returns the longest reach that may soon be pledged, as far as is known here.
func (m *Machine) attainable() protocol.Reach {
	if p := m.cell.Pledges; p != nil && p.Top > p.Durable {
		return max(p.Top, m.most)
	}
	return m.most
}

// withdraw cancels a request that could not be recorded, except for earlier promises.
func (m *Machine) withdraw() {
	m.need = protocol.NeedHorizon{Want: min(m.need.Want, m.given.Confirmed), Clients: m.need.Clients && m.given.Clients}
	m.cell.Clean = m.cell.Clean || !m.need.Clients && m.wait == 0
	m.pledge()
}
