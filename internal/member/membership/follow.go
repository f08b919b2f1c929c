package membership

import (
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// follows reports whether a member that has promised may accept messages of an epoch: the promised one, or one with a
// higher counter. Two epochs with the same counter are never both followed (V25).
func (m *Machine) follows(epoch protocol.Epoch) bool {
	promised := m.cell.promised()
	if protocol.Mutated("epoch check off") || epoch == promised {
		return true
	}
	if protocol.Mutated("equal counters") {
		return election.Less(promised, epoch)
	}
	return epoch.Counter > promised.Counter
}

// onPoll handles a poll, or (v not nil) a view in its place.
func (m *Machine) onPoll(now protocol.Time, from protocol.ID, p Poll, v *election.View, out *protocol.Effects) {
	m.seen = max(m.seen, p.Epoch.Counter)
	unheard := p.Tenure == m.lease.Tenure && p.Echo > now // a former life's clock was further ahead
	if from != p.Epoch.Candidate || unheard || v != nil && !fits(v, p) {
		out.Note(Ignored{From: from, What: p})
		return
	}
	if !m.follows(p.Epoch) {
		out.Send(from, m.refusal(now, p.Epoch))
		return
	}
	if m.dissents() && (v == nil || m.differs(v.Terms)) {
		m.meetOtherTerms(m.cell.Accepted, out)
		return
	}
	if v != nil && !m.accept(now, v, out) {
		return
	}
	accepted := m.cell.Accepted
	if accepted == nil || accepted.Epoch != p.Epoch || p.View < accepted.Number {
		return // an older view of this epoch, or one never seen here
	}
	if p.View == accepted.Number {
		m.learn(p.Installed, p.Open)
		if m.lease.Opens = 0; p.Wait > 0 {
			m.lease.Opens = now + p.Wait
		}
		if place, listed := accepted.Of(m.self); listed {
			m.renew(now, p, place)
			m.hear(now, from, p)
		}
	}
	m.heedPledges(p, v)
	m.closed.elsewhere = p.Closed
	answer := m.pollAnswer(now, p.Seq)
	switch {
	case v != nil:
		m.sendSaved(from, ViewAck{Answer: answer})
	case m.written.Accepted.Same(accepted):
		out.Send(from, answer)
	default:
		m.sendSaved(from, answer) // the disk failed the first time
	}
}

// fits reports whether a view matches its poll.
func fits(v *election.View, p Poll) bool {
	return v.Epoch == p.Epoch && v.Number == p.View && v.Number > 0 && len(v.Members) > 0
}

// accept accepts a view, unless a newer one was accepted. It reports whether the member follows the view now.
func (m *Machine) accept(now protocol.Time, v *election.View, out *protocol.Effects) bool {
	old := m.cell.Accepted
	switch {
	case v.Same(old):
		m.cell.Accepted = old.Know(v)
	case old.Newer(v):
		return false
	case m.isForeign(v):
		m.refuse(foreign(old, v), out)
		return false
	case m.differs(v.Terms):
		m.meetOtherTerms(v, out)
		return false
	default:
		m.cell.Accepted = v
	}
	m.cell.Cluster = v.Cluster
	if election.Less(m.cell.promised(), v.Epoch) {
		m.stepDown(now, v.Epoch, out)
	}
	m.publishing = true
	m.noteOrder(old, v, out)
	if old == nil || old.Epoch != v.Epoch {
		m.beginEpoch()
	}
	return true
}

// stepDown follows another epoch: any role of this member under an earlier one ends (V10), and so does its candidacy:
// its own promise is void.
func (m *Machine) stepDown(now protocol.Time, epoch protocol.Epoch, out *protocol.Effects) {
	must(epoch.Counter >= m.cell.Promised || protocol.Mutated("epoch check off"),
		"promised epoch goes from %d down to %d", m.cell.Promised, epoch.Counter)
	if m.reign != nil {
		m.endRole(now)
	}
	if m.ballot != nil && m.ballot.Epoch != epoch && !protocol.Mutated("candidacy outlives the promise") {
		m.ballot = nil
	}
	m.cell.Promised, m.cell.Candidate = epoch.Counter, epoch.Candidate
	m.lease.Promised = epoch.Counter
	m.closed.elsewhere = nil
	m.seen = max(m.seen, epoch.Counter)
	out.Raise(&protocol.Halted{Promised: epoch.Counter})
}

// learn applies new knowledge of the accepted view.
func (m *Machine) learn(installed, open bool) {
	v := m.cell.Accepted
	if v.Installed && v.Open || !installed || v.Installed && !open {
		return
	}
	m.cell.Accepted = v.Know(&election.View{Epoch: v.Epoch, Number: v.Number, Installed: true, Open: open})
	if m.cell.Floor < v.Epoch.Counter {
		m.cell.Floor = v.Epoch.Counter
		m.remember()
	}
}

// renew extends the lease: it counts from when this member sent the clock reading that the poll echoes, and never
// exceeds the role of the polling coordinator (V1, V2). Only a place under this member's own tenure counts.
func (m *Machine) renew(now protocol.Time, p Poll, place election.Member) {
	if place.Tenure != m.lease.Tenure || m.exit.ended() {
		return
	}
	until := p.Echo + min(m.config.Lease, p.Role)
	switch {
	case protocol.Mutated("lease counted from receipt"):
		until = now + min(m.config.Lease, p.Role)
	case p.Tenure != m.lease.Tenure:
		return
	case protocol.Mutated("role cap off"):
		until = p.Echo + m.config.Lease
	}
	if until > now {
		if until > now+m.config.Lease {
			must(false, "a lease of %v is longer than %v", until-now, m.config.Lease)
		}
		m.extend(until)
	}
}

// hear records that the coordinator is alive. A poll delayed so long that it renews nothing does not count.
func (m *Machine) hear(now protocol.Time, from protocol.ID, p Poll) {
	if p.Tenure == m.lease.Tenure && p.Echo+min(m.config.Lease, p.Role) <= now {
		return
	}
	m.coordinator, m.heard, m.followed, m.doubted = from, now, true, false
	m.deferred, m.hears, m.mustHear, m.applied, m.placesFrom = 0, nil, "", false, 0
	m.trips.end(m.enough())
	m.abandon()
}

// pollAnswer returns this member's answer to a poll.
func (m *Machine) pollAnswer(now protocol.Time, seq uint64) PollAnswer {
	v := m.cell.Accepted
	if !m.answered {
		m.answeredAt, m.answered = now, true
	}
	own := m.latest()
	return PollAnswer{
		Epoch: v.Epoch, View: v.Number, Seq: seq, At: now, Tenure: m.lease.Tenure,
		Wants: protocol.ReachOf(m.need.Want), Version: own.Version, Pledge: own.Reach, Stored: m.storedIn(v.Epoch), Reported: m.reported(),
		Leaving: m.exit != nil, Empty: m.exit.empty(), Unheard: m.notHeard(), Closed: m.closed.here,
	}
}

// hasten schedules an answer without a poll: something cannot wait for the next one.
func (m *Machine) hasten() { m.immediate = true }

// speakUp answers the latest poll again.
func (m *Machine) speakUp(now protocol.Time, out *protocol.Effects) {
	if !m.immediate || m.saving || m.starting {
		return
	}
	m.immediate = false
	if v := m.cell.Accepted; m.reign == nil && m.followed && v != nil && v.Epoch == m.cell.promised() && m.written.Accepted.Same(v) {
		out.Send(m.coordinator, m.pollAnswer(now, m.roundIn(v.Epoch)))
	}
}

// roundIn returns the newest round of polls heard of an epoch; 0 if none. A round of another epoch would answer one
// that this member has not heard, and that may not even have been sent.
func (m *Machine) roundIn(epoch protocol.Epoch) uint64 {
	if m.roundOf != epoch {
		return 0
	}
	return m.round
}

// storedIn returns the newest list of an epoch's pledges that this member has recorded.
func (m *Machine) storedIn(epoch protocol.Epoch) uint64 {
	switch {
	case m.roundOf != epoch:
		return 0
	case protocol.Mutated("pledges counted before they are written"):
		return m.listed
	}
	return m.stored
}
