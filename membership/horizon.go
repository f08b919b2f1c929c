package membership

import (
	"math/bits"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// promises is what this member's clients may be promised (membership.md §6).
type promises struct {
	horizon  protocol.Horizon     // what may be promised now
	given    protocol.Horizon     // the most that was said before and is still needed
	need     protocol.NeedHorizon // the latest wish
	asked    bool                 // somebody waits for a Horizon
	heeded   bool                 // the coordinator has heard the latest wish
	wishedAt protocol.Time        // its first answer with the latest wish
	wished   bool                 // wishedAt means something
	usable   time.Duration        // what a quorum remembers, as far as this member's wish was heard
	carried  time.Duration        // what the coordinator wants remembered
	round    uint64               // of the newest poll whose horizon was heeded, in the accepted view's epoch
	roundOf  protocol.Epoch
	hurry    bool // something cannot wait for the next poll

	wait protocol.Time // until when what an earlier life or tenure has promised is believed; 0 for nothing
	owed time.Duration // the horizon that it had
}

// owe keeps the cell saying that clients believe, and how far, until a time.
func (m *Machine) owe(until protocol.Time, horizon time.Duration) {
	m.wait = max(m.wait, until)
	m.owed = max(m.owed, horizon)
}

// owes is how much longer what is waited for may be believed, by this member's clock:
// whoever else waits for it stretches that by himself.
func (m *Machine) owes(now protocol.Time) time.Duration {
	if m.wait <= now {
		return 0
	}
	return m.config.shrink(m.wait - now)
}

// onNeedHorizon lets clients believe longer, once that is safely remembered; or less
// long, at once, whatever the cell still says.
func (m *Machine) onNeedHorizon(need *protocol.NeedHorizon, out *protocol.Effects) {
	want := protocol.NeedHorizon{Want: min(need.Want, m.config.MaxHorizon), Clients: need.Clients}
	if m.exit.empty() {
		want = protocol.NeedHorizon{} // it has said that it promises nothing any more
	}
	m.setNeed(want)
	m.asked, m.urgent = true, true
	m.lower(out)
	m.setPromises()
	m.remember()
}

// setNeed notes a wish. What was confirmed for an earlier one may have sunk when that
// was less: only a poll that echoes an answer with this one confirms it.
func (m *Machine) setNeed(need protocol.NeedHorizon) {
	if need.Want > m.need.Want {
		m.wished, m.heeded, m.usable = false, false, min(m.usable, m.need.Want)
		m.hasten()
	}
	m.need = need
}

// lower promises no more than was asked for last, before the cell is told: nothing
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

// within is what of a horizon is still needed.
func (m *Machine) within(h protocol.Horizon) protocol.Horizon {
	return protocol.Horizon{Confirmed: min(h.Confirmed, m.need.Want), Clients: h.Clients && m.need.Clients}
}

// setPromises makes the cell say what is promised. While an earlier life's or tenure's
// promises are waited for, it goes on saying them: a restart within the wait must
// wait for them too.
func (m *Machine) setPromises() {
	horizon, clean := m.carried, !m.need.Clients
	if m.alone() {
		horizon = m.reign.horizon
	}
	if m.need.Clients && !m.alone() {
		// In mode any the coordinator of another side may not have heard of it yet.
		horizon = max(horizon, m.given.Confirmed)
	}
	if m.wait > 0 {
		horizon, clean = max(horizon, m.owed), false
	}
	m.cell.Horizon, m.cell.Clean = horizon, clean
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

// heedHorizon takes up what a poll says of the horizon. A later round is newer
// knowledge than an earlier one, in whatever order they come.
func (m *Machine) heedHorizon(p Poll) {
	if p.Epoch == m.roundOf && p.Seq <= m.round {
		return
	}
	m.roundOf, m.round = p.Epoch, p.Seq
	if m.carried != p.Horizon {
		m.carried = p.Horizon
		m.setPromises()
		m.remember()
		if m.cell.Horizon > m.written.Horizon {
			m.hurry = true // said again when it is written
		}
	}
	if m.wished && p.Tenure == m.lease.Tenure && p.Echo >= m.wishedAt {
		m.heeded, m.usable = true, p.Usable
	}
}

// mayPromise is how far beyond the lease this member's clients may believe now: no
// further than a quorum remembers, for whoever is elected without this member, and no
// further than its own cell says, for its own next life.
func (m *Machine) mayPromise() time.Duration {
	if m.reign != nil {
		return min(m.written.Horizon, m.usableHere())
	}
	return min(m.written.Horizon, m.usable)
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
		may = m.horizon // nobody knows which bytes the disk has now
	}
	switch {
	case m.asked && m.decided(may):
		m.asked, m.horizon = false, may
		m.given = protocol.Horizon{Confirmed: max(m.given.Confirmed, may.Confirmed), Clients: m.given.Clients || may.Clients}
		raised := may
		raised.Answer = true
		out.Raise(&raised)
	case !m.asked && (may.Confirmed < m.horizon.Confirmed || m.horizon.Clients && !may.Clients):
		m.horizon.Confirmed = min(m.horizon.Confirmed, may.Confirmed)
		m.horizon.Clients = m.horizon.Clients && may.Clients
		raised := m.horizon
		out.Raise(&raised)
	}
}

// decided reports whether a wish has its answer: it is granted, or it cannot be.
func (m *Machine) decided(may protocol.Horizon) bool {
	switch {
	case m.failed != nil, may.Confirmed >= m.need.Want, m.alone():
		return true
	case m.reign != nil:
		return m.reign.horizon < m.need.Want
	}
	return !m.leased || m.heeded && m.carried < m.need.Want
}

// withdraw: what could not be remembered is not promised; the wish is forgotten, but
// for what was promised before.
func (m *Machine) withdraw() {
	m.need = protocol.NeedHorizon{Want: min(m.need.Want, m.given.Confirmed), Clients: m.need.Clients && m.given.Clients}
	m.cell.Clean = m.cell.Clean || !m.need.Clients && m.wait == 0
	if m.alone() {
		m.cell.Horizon = min(m.cell.Horizon, max(m.need.Want, m.written.Horizon))
		m.reign.horizon = roundUp(m.need.Want)
	}
}

// tendHorizon agrees on the horizon: it rises to what the neediest member wants, in
// powers of two, and sinks when nobody needs it and the view is open, since until
// then somebody outside may still be believed. It does not rise while a voter has no
// cell: it would be forgotten.
func (m *Machine) tendHorizon() {
	r := m.reign
	if m.usableHere() > r.usable {
		r.nextPoll = 0 // somebody waits for it
	}
	want := m.need.Want
	settled := r.view.Open && r.proposal == nil
	for _, member := range r.view.Members {
		if member.ID == m.self {
			continue
		}
		t := r.tracks[member.ID]
		settled = settled && t != nil && t.told && t.tenure == member.Tenure
		if t != nil {
			want = max(want, t.wants)
		}
	}
	want = min(roundUp(want), m.config.MaxHorizon)
	if r.forgetful() {
		want = min(want, r.horizon)
	}
	if want == r.horizon || want < r.horizon && !settled {
		return
	}
	if want > r.horizon {
		r.nextPoll = 0
	}
	r.horizon, r.horizonSince = want, r.seq+1
	m.carried = want
	m.setPromises()
	m.remember()
}

// forgetful reports whether a voter has no cell.
func (r *reign) forgetful() bool {
	return slices.ContainsFunc(r.current().Members, func(m election.Member) bool { return m.Founder && !m.Kept })
}

// roundUp returns the next power of two of nanoseconds, so that the horizon seldom
// changes.
func roundUp(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return 1 << min(62, bits.Len64(uint64(d-1)))
}

// usableHere is the horizon that a quorum remembers, the longest that one does: of the
// installed view and, while a proposal is under way, of every view whose quorum it
// needs, as for the role. A proposal that its coordinator alone has accepted is
// forgotten with it, and so is what only it remembers.
func (m *Machine) usableHere() time.Duration {
	r := m.reign
	if r.forgetful() {
		return 0
	}
	own := r.tracks[m.self]
	if own.recalls = 0; m.sure {
		own.recalls = m.written.Horizon
	}
	needs := r.electorates()
	if r.proposal != nil && protocol.Mutated("horizon remembered by a proposal") {
		needs = []election.Electorate{r.proposal.Electorate()}
	}
	usable, _ := r.reached(needs, func(t *track) (protocol.Time, bool) { return t.recalls, true })
	if r.proposal != nil {
		usable = max(usable, r.assured)
	}
	return min(usable, r.horizon)
}
