package permission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// peer is another member of the view.
type peer struct {
	place    local.Place
	answered bool   // its clock, in the current exchange
	clock    uint64 // its clock is at least that
	slot     int    // 0 while it is not known to have one
	// harmless means that it has come after this member and has sent it no request yet: it holds nothing, and cannot
	// before it has been answered here. Its replies are not waited for.
	harmless bool
	// unmet means that it is harmless and has not asked for this member's clock: it knows no bound of this member's
	// tokens, and none applies.
	unmet bool
	// bounded means that its tokens are within the limit above this member's clock: it came after this member, or has
	// sent it its clock, and so has met it.
	bounded    bool
	unanswered int           // copies that it was sent since it was last heard, one a patience
	probeFrom  protocol.Time // from when on another one counts
}

// unknownCount means that no member here knows how many have left that may hold something.
const unknownCount = -1

// onView handles the newest view. All requests go to its new members, and unanswered ones are repeated; answers under
// the previous view keep their value.
func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	before := m.standing.View
	same := m.standing.Take(view)
	m.begin(view)
	if view.Lease.Tenure.Lapses != m.lapses {
		m.onLapsed(now, view.Lease.Tenure, out)
	}
	anew := m.standing.Settle()
	m.meet(view, anew, same)
	m.count(now, view)
	if !m.standing.Admitted() {
		m.clients.Pause()
		return
	}
	if before == nil || before.Epoch != view.Epoch || anew {
		// Every member that may enter under this view asks this one first: its clients' holds are therefore known where
		// that matters, and may be renewed.
		out.Raise(&protocol.Confirmed{Epoch: view.Epoch.Counter})
	}
	if anew {
		m.startOver(now, out)
	}
	m.learn(now, out)
	if !same {
		m.survey.Renew(now, out)
		m.sayAgain(now, out)
	}
	m.attendAll(now, out)
	for _, ev := range m.standing.Early() {
		m.onReceive(now, ev, out)
	}
}

// meet updates the set of peers of a view. A peer with a new place is asked everything again, and a departed one is
// silent: until the view is open it is counted instead.
func (m *Machine) meet(view *protocol.View, anew, same bool) {
	before := m.peers
	m.recount = m.complains
	m.peers = make([]peer, 0, len(view.Members))
	for member := range m.standing.Others() {
		at := local.PlaceOf(member)
		i := slices.IndexFunc(before, func(p peer) bool { return p.place == at })
		switch {
		case i >= 0 && !anew:
			m.peers = append(m.peers, before[i])
		default:
			newcomer := !anew && m.config.Capacity == 0
			m.peers = append(m.peers, peer{place: at, harmless: newcomer, unmet: newcomer, bounded: !anew})
		}
		if i >= 0 {
			before = slices.Delete(slices.Clone(before), i, i+1)
		}
	}
	if !same {
		m.doubtSlots()
	}
	lost, unbounded := 0, false
	for _, gone := range before {
		m.forgetPeer(gone.place.ID)
		if !gone.harmless {
			lost++
			unbounded = unbounded || !gone.bounded
		}
	}
	switch {
	case anew:
		m.absent = unknownCount
	case !same && m.absent != unknownCount:
		m.absent += lost
	}
	if anew || lost > 0 {
		m.advancePast(lost, unbounded)
	}
}

// doubtSlots repeats the question, under another view, to members that had no slot when they were asked. One may have
// taken its slot under the previous view since then, and have left some for members that this view does not have.
func (m *Machine) doubtSlots() {
	if m.slot != 0 || protocol.Mutated("slots are sent under one view") {
		return
	}
	for i := range m.peers {
		if p := &m.peers[i]; p.slot == 0 {
			p.answered = false
		}
	}
}

// forgetPeer forgets the answers and debts of a peer that has left or comes back as a newcomer.
func (m *Machine) forgetPeer(id protocol.ID) {
	for _, r := range m.pending() {
		r.unlearn(id)
	}
	//tidy:unordered nothing is reported
	for _, nm := range m.names {
		nm.debts = slices.DeleteFunc(nm.debts, func(d debt) bool { return d.peer == id })
	}
	m.forgetKeptOf(id)
	m.tidy()
}

// tidy drops the names that are not needed any more.
func (m *Machine) tidy() {
	//tidy:unordered nothing is reported
	for _, nm := range m.names {
		if !nm.touched {
			m.forget(nm)
		}
	}
}

// count notes from when on no member outside the view can hold anything.
func (m *Machine) count(now protocol.Time, view *protocol.View) {
	m.openFrom = protocol.Never
	switch {
	case !view.Open:
	case view.GrantFrom != protocol.Never:
		m.openFrom = view.GrantFrom
	default:
		m.openFrom = 0
	}
	if m.openFrom <= now {
		m.absent = 0
	}
}

// startOver begins a stay. Earlier answers are void; for the others the members that entered before are gone; and
// waiting requests are stamped when the clocks are known.
func (m *Machine) startOver(now protocol.Time, out *protocol.Effects) {
	m.slot = 0
	m.clients.Lose(now, holdfast.MemberLost, out)
	clear(m.active)
	m.reminders = protocol.Reminders[due]{}
	m.unstamped = m.clients.Waiting()
	for _, r := range m.unstamped {
		r.clock, r.number, r.bounds, r.last, r.By, r.due, r.pause, r.Waits = 0, 0, nil, 0, nil, protocol.Never, 0, false
	}
	//tidy:unordered nothing is reported
	for _, nm := range m.names {
		nm.debts, nm.kept, nm.last = nil, nil, 0
		m.recent.remove(nm)
	}
	m.tidy()
}

// learn requests the missing clocks, until all have arrived.
func (m *Machine) learn(now protocol.Time, out *protocol.Effects) {
	if m.learned {
		m.clockDue = protocol.Never
		return
	}
	m.clockWait = 0
	m.askClocks(now, out)
}

func (m *Machine) askClocks(now protocol.Time, out *protocol.Effects) {
	m.clockDue = protocol.Never
	missing := false
	for i := range m.peers {
		if p := &m.peers[i]; !p.answered && !p.unmet {
			missing = true
			m.probe(now, p)
			out.Send(p.place.ID, ClockRequest{Tag: m.standing.Tag(), Clock: m.clock, Slot: m.slot})
		}
	}
	if !missing {
		m.know(now, out)
		return
	}
	m.clockWait = protocol.Longer(m.clockWait, m.config.Patience)
	m.clockDue = now + m.clockWait
}

// onClock handles a peer's clock and slot; answers reports that it has sent them knowing this member's.
func (m *Machine) onClock(now protocol.Time, from protocol.ID, clock uint64, slot int, answers bool, out *protocol.Effects) {
	if !m.possible(clock) || slot < 0 {
		out.Note(local.Ignored{What: fmt.Sprintf("clock %s with slot %d from member %d, in epoch %d", clockText(clock), slot, from, m.standing.View.Epoch.Counter)})
		return
	}
	m.clock = max(m.clock, clock)
	m.knows(from, clock)
	p := &m.peers[m.peerAt(from)]
	p.slot = cmp.Or(p.slot, slot)
	if p.unmet && !protocol.Mutated("tokens are ahead of a newcomer") {
		p.unmet, p.answered = false, true // it has none of its own yet
	}
	p.bounded = p.bounded || answers
	if m.learned || !answers {
		return
	}
	p.answered = true
	if !slices.ContainsFunc(m.peers, func(p peer) bool { return !p.answered && !p.unmet }) {
		m.know(now, out)
	}
}

// know begins to stamp and to ask: all that was stamped before this stay is older.
func (m *Machine) know(now protocol.Time, out *protocol.Effects) {
	m.learned, m.clockDue = true, protocol.Never
	m.takeSlot()
	if m.unsaid {
		m.sayAgain(now, out)
	}
	m.attendAll(now, out)
}

// sayAgain repeats all unanswered requests to all others, under a new view. Answers in flight are void there.
func (m *Machine) sayAgain(now protocol.Time, out *protocol.Effects) {
	m.unsaid = !m.ready()
	if m.unsaid {
		return
	}
	for _, r := range m.pending() {
		r.pause = 0
		m.send(now, r, out)
	}
}

// resume pauses or resumes the table, depending on whether anything can be granted: a request that waits for no
// particular member is answered that there is none that could grant it.
func (m *Machine) resume(now protocol.Time, out *protocol.Effects) {
	if !m.ready() || m.absent != 0 && m.config.Capacity == 0 {
		m.clients.Pause()
		return
	}
	m.clients.Resume(now, out)
	for _, r := range m.clients.Waiting() {
		m.touch(r.name)
	}
}

// ready reports whether this member may stamp and ask.
func (m *Machine) ready() bool { return m.standing.Admitted() && !m.standing.Halted && m.learned }

// onLapsed ends what the expired lease no longer covers: every hold is lost, because of its member. Waiting requests
// are repeated in the next stay, under other stamps and numbers.
func (m *Machine) onLapsed(now protocol.Time, next protocol.Tenure, out *protocol.Effects) {
	m.clients.Pause()
	m.standing.Leave()
	m.peers, m.absent, m.learned = nil, unknownCount, false
	m.recount = m.complains
	m.clockDue, m.leaseDue = protocol.Never, protocol.Never
	m.lapses, m.numbers = next.Lapses, 0
	m.survey.End(now, out)
	m.startOver(now, out)
}
