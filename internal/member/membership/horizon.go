package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// promises is what this member's clients may be promised (docs/design/membership.md §6).
type promises struct {
	horizon    protocol.Horizon     // what may be promised now
	given      protocol.Horizon     // the most that was promised before and is still needed
	need       protocol.NeedHorizon // the latest request
	requested  bool                 // a machine above waits for a Horizon
	heeded     bool                 // the coordinator has heard the latest request
	answeredAt protocol.Time        // its first answer with the latest request
	answered   bool                 // answeredAt means something
	said       []election.Pledge    // this tenure's, from the oldest on that some quorum may know as the newest
	recorded   uint64               // version of the newest one that the quorums are known to have written down
	most       protocol.Reach       // that may be pledged
	round      uint64               // of the newest poll whose pledges were heeded, in the accepted view's epoch
	roundOf    protocol.Epoch
	listed     uint64 // the newest list of pledges of that epoch that was taken up
	stored     uint64 // the newest one that is written
	immediate  bool   // something cannot wait for the next poll

	wait protocol.Time  // until when what an earlier life or tenure has promised is believed; 0 for nothing
	owed protocol.Reach // how far beyond its lease
}

// owe keeps the cell saying that clients believe, and how far, until a time.
func (m *Machine) owe(until protocol.Time, reach protocol.Reach) {
	m.wait = max(m.wait, until)
	m.owed = max(m.owed, reach)
}

// owes is how much longer what is waited for may be believed, by this member's clock: any
// other member that waits for it stretches that by itself.
func (m *Machine) owes(now protocol.Time) time.Duration {
	if m.wait <= now {
		return 0
	}
	return m.config.shrink(m.wait - now)
}

// onNeedHorizon lets clients believe longer, once that is safely remembered; or less
// long, at once, regardless of what the cell still says.
func (m *Machine) onNeedHorizon(need *protocol.NeedHorizon, out *protocol.Effects) {
	want := protocol.NeedHorizon{Want: min(need.Want, m.config.MaxHorizon), Clients: need.Clients}
	if m.exit.empty() {
		want = protocol.NeedHorizon{} // it has said that it promises nothing any more
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

// latest is this tenure's newest pledge, of version 0 where it has made none.
func (m *Machine) latest() election.Pledge {
	if n := len(m.said); n > 0 {
		return m.said[n-1]
	}
	return election.Pledge{ID: m.self, Tenure: m.lease.Tenure}
}

// pledge makes another pledge when what clients need has changed: a longer one as far as one
// is allowed, and a shorter one, as soon as the last is recorded, when no client believes in
// more any longer. So few are under way at a time.
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

// lower promises no more than the latest request, before the cell is written: nothing
// may be promised that a cell under way does not say.
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

// setPromises makes the cell say whether anything is promised. While an earlier life's or
// tenure's promises are waited for, it goes on saying them: a restart within the wait must
// wait for them too.
func (m *Machine) setPromises() {
	m.cell.Owed, m.cell.Clean = 0, !m.need.Clients
	if m.wait > 0 {
		m.cell.Owed, m.cell.Clean = m.owed, false
	}
}

// onWaited lets the cell forget what an earlier life or tenure had promised.
func (m *Machine) onWaited(now protocol.Time, out *protocol.Effects) {
	if m.wait == 0 || now < m.wait {
		return
	}
	m.wait, m.owed = 0, 0
	m.lower(out)
	m.setPromises()
	m.remember()
}

// heedPledges takes up what a poll says of pledges. A later round is newer knowledge than an
// earlier one, regardless of the order in which they come. No other member knows better what
// this one has pledged.
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
		m.cell.Pledges = all // also where it says nothing new: a member that has written it has shown that it can write
		m.listed = p.List
		m.remember()
		m.immediate = m.immediate || v == nil // said again when it is written
	}
	if p.Tenure == m.lease.Tenure {
		m.noteRecorded(p.Recorded)
		m.heeded = m.heeded || m.answered && p.Echo >= m.answeredAt
	}
	m.pledge()
}

// noteRecorded: quorums have written down the version of this tenure's pledge.
func (m *Machine) noteRecorded(version uint64) {
	m.recorded = max(m.recorded, version)
	known := m.known()
	for len(m.said) > 1 && m.said[1].Version <= known {
		m.said = slices.Delete(m.said, 0, 1)
	}
}

// known is the newest version of this tenure's pledge that both its own next life and, should it
// have none, any member that is elected without it, know of; or they know a newer one.
func (m *Machine) known() uint64 {
	written := m.written.Pledges.Find(m.self, m.lease.Tenure).Version
	if protocol.Mutated("promised before it is recorded") {
		return written
	}
	return min(m.recorded, written)
}

// mayPromise is how far beyond the lease this member's clients may believe now: no further than
// every version of its pledge says that a member may take for the newest.
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

// answerHorizon raises what may be promised, when the cell says so and the others
// have heard: no more than is needed, even where the cell says more.
func (m *Machine) answerHorizon(out *protocol.Effects) {
	if m.starting || m.saving {
		return
	}
	may := protocol.Horizon{
		Confirmed: min(m.mayPromise(), m.need.Want),
		Clients:   !m.written.Clean && m.need.Clients,
	}
	if m.failed != nil {
		may = m.horizon // it is not known which bytes the disk has now
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

// decided reports whether a request has its answer: it is granted, or it cannot be.
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

// attainable is the longest reach that may be pledged soon, as far as is known here.
func (m *Machine) attainable() protocol.Reach {
	if p := m.cell.Pledges; p != nil && p.Top > p.Durable {
		return max(p.Top, m.most)
	}
	return m.most
}

// withdraw: what could not be remembered is not promised; the request is forgotten, but
// for what was promised before.
func (m *Machine) withdraw() {
	m.need = protocol.NeedHorizon{Want: min(m.need.Want, m.given.Confirmed), Clients: m.need.Clients && m.given.Clients}
	m.cell.Clean = m.cell.Clean || !m.need.Clients && m.wait == 0
	m.pledge()
}
