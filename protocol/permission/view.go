package permission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// place is a member's stay in the views: under one tenure, without a gap.
type place struct {
	id     protocol.ID
	tenure protocol.Tenure
	since  uint64
}

// peer is another member of the view.
type peer struct {
	place place
	told  bool   // its clock, since clocks are asked for
	clock uint64 // its clock is at least that
	slot  int    // 0 while it is not known to have one
	// harmless says that it has come after this member and has asked it for nothing yet: so it
	// holds nothing, and cannot before it has been answered here. It is not waited for.
	harmless   bool
	unanswered int           // copies that it was sent since it was last heard, one a patience
	probeFrom  protocol.Time // from when on another one counts
}

// untold says that nobody here knows how many have left who may hold something.
const untold = -1

// maxEarly is how many messages wait for a view that is about to come; one more is dropped,
// and its sender repeats it.
const maxEarly = 1024

// onView takes the newest view. Who is in it is asked for what is wanted, and again for what
// it has not answered; what its answers under the view before were worth, they are worth still.
func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	before := m.view
	if before != nil && view.Epoch.Counter < before.Epoch.Counter {
		panic(fmt.Sprintf("permission: epoch went back from %d to %d", before.Epoch.Counter, view.Epoch.Counter))
	}
	same := before != nil && before.Number == view.Number && before.Epoch == view.Epoch
	m.view, m.halted = view, false
	m.begin(view)
	if view.Lease.Tenure.Lapses != m.lapses {
		m.onLapsed(now, view.Lease.Tenure, out)
	}
	own, _ := placeIn(view, m.self)
	if own.tenure != view.Lease.Tenure {
		own = place{}
	}
	anew := own != m.place
	m.place = own
	m.meet(view, anew, same)
	m.count(now, view)
	if own.id == 0 {
		m.table.Pause()
		return
	}
	if before == nil || before.Epoch != view.Epoch || anew {
		// Everybody who may enter under this view asks this member first: so what its clients
		// hold is known wherever that matters (membership.md, V13).
		out.Raise(&protocol.Confirmed{Epoch: view.Epoch.Counter})
	}
	if anew {
		m.startOver(now, out)
	}
	m.learn(now, out)
	if !same {
		m.turnOperations(now, out)
		m.sayAgain(now, out)
	}
	m.attendAll(now, out)
	early := m.early
	m.early = nil
	for _, ev := range early {
		m.onReceive(now, ev, out)
	}
}

// placeIn is a member's place in a view.
func placeIn(view *protocol.View, id protocol.ID) (place, bool) {
	member, listed := view.Of(id)
	return place{member.ID, member.Tenure, member.Since}, listed
}

// meet takes up the others of a view. Whose place is new is asked everything anew, and who has
// none any more has nothing to say: until the view is open it is counted instead.
func (m *Machine) meet(view *protocol.View, anew, same bool) {
	before := m.peers
	m.recount = m.complains
	m.peers = make([]peer, 0, len(view.Members))
	for _, member := range view.Members {
		if member.ID == m.self {
			continue
		}
		at := place{member.ID, member.Tenure, member.Since}
		i := slices.IndexFunc(before, func(p peer) bool { return p.place == at })
		switch {
		case i >= 0 && !anew:
			m.peers = append(m.peers, before[i])
		default:
			m.peers = append(m.peers, peer{place: at, harmless: !anew && m.config.Capacity == 0})
		}
		if i >= 0 {
			before = slices.Delete(slices.Clone(before), i, i+1)
		}
	}
	lost := 0
	for _, gone := range before {
		m.part(gone.place.id)
		if !gone.harmless {
			lost++
		}
	}
	switch {
	case anew:
		m.absent = untold
	case !same && m.absent != untold:
		m.absent += lost
	}
	if anew || lost > 0 {
		m.outrun(lost)
	}
}

// part forgets what a peer has said and what it was owed, which has left or comes back as a
// newcomer.
func (m *Machine) part(id protocol.ID) {
	for _, r := range m.asking() {
		r.unlearn(id)
	}
	//tidy:unordered nothing is told
	for _, nm := range m.names {
		nm.debts = slices.DeleteFunc(nm.debts, func(d debt) bool { return d.peer == id })
	}
	m.forgetKeptOf(id)
	m.tidy()
}

// tidy drops the names that nobody needs any more.
func (m *Machine) tidy() {
	//tidy:unordered nothing is told
	for _, nm := range m.names {
		if !nm.touched {
			m.forget(nm)
		}
	}
}

// count notes from when on nobody outside the view can hold anything.
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

// startOver begins a stay. What was answered before is void; who has entered before is gone for
// the others; and what waits is stamped when the clocks are known.
func (m *Machine) startOver(now protocol.Time, out *protocol.Effects) {
	m.slot = 0
	held := func(_ string, _ lock.SessionID, _ uint64, token holdfast.Token) bool { return token != 0 }
	m.table.EndWhere(now, holdfast.MemberLost, held, &m.scratch)
	m.tell(now, out)
	clear(m.asked)
	m.reminders = protocol.Reminders[due]{}
	m.unstamped = m.waiting()
	for _, r := range m.unstamped {
		r.clock, r.number, r.bounds, r.last, r.by, r.due, r.pause, r.waits = 0, 0, nil, 0, nil, protocol.Never, 0, false
	}
	//tidy:unordered nothing is told
	for _, nm := range m.names {
		nm.debts, nm.kept, nm.last = nil, nil, 0
		m.recent.remove(nm)
	}
	m.tidy()
}

// learn asks those for their clocks who have not told them, until all have.
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
		if p := &m.peers[i]; !p.told && !p.harmless {
			missing = true
			m.probe(now, p)
			out.Send(p.place.id, ClockRequest{Tag: m.tag(), Clock: m.clock, Slot: m.slot})
		}
	}
	if !missing {
		m.know(now, out)
		return
	}
	m.clockWait = protocol.Longer(m.clockWait, m.config.Patience)
	m.clockDue = now + m.clockWait
}

// onClock takes a peer's clock and slot; answers says that it has said them knowing this
// member's.
func (m *Machine) onClock(now protocol.Time, from protocol.ID, clock uint64, slot int, answers bool, out *protocol.Effects) {
	if !m.possible(clock) || slot < 0 {
		out.Note(Ignored{What: fmt.Sprintf("clock %s with slot %d from member %d, in epoch %d", clockText(clock), slot, from, m.view.Epoch.Counter)})
		return
	}
	m.clock = max(m.clock, clock)
	m.knows(from, clock)
	p := &m.peers[m.peerAt(from)]
	p.slot = cmp.Or(p.slot, slot)
	if m.learned || !answers {
		return
	}
	p.told = true
	if !slices.ContainsFunc(m.peers, func(p peer) bool { return !p.told && !p.harmless }) {
		m.know(now, out)
	}
}

// know begins to stamp and to ask: whatever was stamped before this stay is older.
func (m *Machine) know(now protocol.Time, out *protocol.Effects) {
	m.learned, m.clockDue = true, protocol.Never
	m.takeSlot()
	if m.unsaid {
		m.sayAgain(now, out)
	}
	m.attendAll(now, out)
}

// sayAgain asks everybody, under a new view, what has not been answered. An answer that is under
// way is void there.
func (m *Machine) sayAgain(now protocol.Time, out *protocol.Effects) {
	m.unsaid = !m.ready()
	if m.unsaid {
		return
	}
	for _, r := range m.asking() {
		r.pause = 0
		m.send(now, r, out)
	}
}

// resume brings the table in line with whether anything can be granted: who waits for nobody
// in particular is told that there is none who could.
func (m *Machine) resume(now protocol.Time, out *protocol.Effects) {
	if !m.ready() || m.absent != 0 && m.config.Capacity == 0 {
		m.table.Pause()
		return
	}
	m.table.Resume(now, &m.scratch)
	m.tell(now, out)
	for _, r := range m.waiting() {
		m.touch(r.name)
	}
}

// admitted reports whether the newest view has this member in its present tenure.
func (m *Machine) admitted() bool { return m.view != nil && m.place.id != 0 }

// ready reports whether this member may stamp and ask.
func (m *Machine) ready() bool { return m.admitted() && !m.halted && m.learned }

// tag is what a message to a peer begins with.
func (m *Machine) tag() Tag {
	return Tag{View: m.view.Number, Epoch: m.view.Epoch, Tenure: m.place.tenure}
}

// hears reports whether a message is of a peer and of this view. What is of a later one waits
// for that.
func (m *Machine) hears(ev protocol.Event, tag Tag, out *protocol.Effects) bool {
	view := m.view
	if view == nil || tag.Epoch.Counter > view.Epoch.Counter || tag.Epoch == view.Epoch && tag.View > view.Number {
		if len(m.early) < maxEarly {
			m.early = append(m.early, ev)
		}
		return false
	}
	if m.admitted() && tag.Epoch == view.Epoch && tag.View == view.Number &&
		slices.ContainsFunc(m.peers, func(p peer) bool { return p.place.id == ev.From && p.place.tenure == tag.Tenure }) {
		return true
	}
	out.Note(Ignored{What: fmt.Sprintf("%v from member %d: of another view or tenure", ev.Fact, ev.From)})
	return false
}

// onLapsed ends what the ended lease no longer covers: every hold is lost, because of its
// member. What waits is asked for again in the next stay, by other stamps and numbers.
func (m *Machine) onLapsed(now protocol.Time, next protocol.Tenure, out *protocol.Effects) {
	m.table.Pause()
	m.place, m.peers, m.absent, m.learned, m.early = place{}, nil, untold, false, nil
	m.recount = m.complains
	m.clockDue, m.leaseDue = protocol.Never, protocol.Never
	m.lapses, m.numbers = next.Lapses, 0
	m.endOperations(now, out)
	m.startOver(now, out)
}

// waiting lists the requests that wait, in the order of their arrival.
func (m *Machine) waiting() (list []*request) {
	//tidy:unordered they are put in order
	for _, r := range m.byKey {
		if !r.held {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return cmp.Compare(a.arrival, b.arrival) })
	return list
}
