package membership

import (
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// proposes reports whether others may have heard of the proposal. A change of the view is written here before it is
// sent to another member: a later candidate may need this member's promise to replace it, and a disk that rejects the
// change rejects the promise too. The first view of a reign renews the leases of the survivors, which cannot wait for a
// disk; and the promise to lead it was written a moment ago.
func (r *reign) proposes() bool {
	return r.proposal != nil && (r.written || !r.installed || protocol.Mutated("told before it is written"))
}

// accepted returns the newest view that this member may mention to others.
func (m *Machine) accepted() *election.View {
	if r := m.reign; r != nil && r.proposal != nil && !r.proposes() {
		return r.view
	}
	return m.cell.Accepted
}

// current returns the view that is polled.
func (r *reign) current() *election.View {
	if r.proposes() {
		return r.proposal
	}
	return r.view
}

// acceptOwn is the coordinator's own acceptance: like any other, it counts once it is synced.
func (m *Machine) acceptOwn(now protocol.Time) {
	r := m.reign
	if r.track(m.self, now).acked >= r.proposal.Number {
		return
	}
	m.sendSaved(m.self, ViewAck{Answer: PollAnswer{
		Epoch: r.epoch, View: r.proposal.Number, At: now, Tenure: m.lease.Tenure,
		Wants: protocol.ReachOf(m.need.Want), Reported: m.reported(), Leaving: m.exit != nil, Empty: m.exit.empty(),
	}})
}

func (m *Machine) onViewAck(now protocol.Time, from protocol.ID, ack ViewAck, out *protocol.Effects) {
	if r := m.reign; from == m.self && r != nil && r.proposal != nil && ack.Answer.Epoch == r.epoch && ack.Answer.View == r.proposal.Number {
		r.written = true
		if r.installed {
			r.nextPoll = now
		}
	}
	m.onPollAnswer(now, from, ack.Answer, out)
}
