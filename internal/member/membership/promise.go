package membership

import (
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The promising side of phase 2.

// halt promises this member to a candidate: it answers no older polls and makes no new grants; holders keep their
// locks. The promise is synced before it is sent. A candidate that needs no quorum gets it only under a tenure that has
// had a lease, or has no place yet.
func (m *Machine) halt(now protocol.Time, candidate protocol.ID, epoch protocol.Epoch, noQuorum bool, out *protocol.Effects) {
	if noQuorum {
		m.endUnleased(now, out)
	}
	if epoch != m.cell.promised() {
		m.stepDown(now, epoch, out)
	}
	m.candidate, m.followed = candidate, false
	m.sendSaved(candidate, m.promise(now, epoch))
}

func (m *Machine) promise(now protocol.Time, epoch protocol.Epoch) election.Promise {
	return election.Promise{
		Epoch: epoch, At: now, Self: m.config.member(m.self, m.lease.Tenure), Priority: m.config.Priority,
		Accepted: m.cell.Accepted, Pledges: m.cell.Pledges, Owes: m.owes(now),
		Leaving: m.exit != nil, Empty: m.exit.empty(),
	}
}

func (m *Machine) refusal(now protocol.Time, epoch protocol.Epoch) election.Refuse {
	return election.Refuse{
		Epoch: epoch, Promised: m.cell.promised(), Well: m.well(now, epoch.Candidate), Tenure: m.lease.Tenure, View: m.accepted(),
	}
}

// onElection promises, if the epoch is above all that were promised and this member's coordinator is not well.
func (m *Machine) onElection(now protocol.Time, from protocol.ID, e election.Election, out *protocol.Effects) {
	m.seen = max(m.seen, e.Epoch.Counter)
	m.adopt(now, e.View, out)
	v := m.cell.Accepted
	switch {
	case e.Epoch.Candidate != from, v != nil && v.Epoch == e.Epoch:
		return // not its own, or won meanwhile
	case m.differs(e.Terms), !m.follows(e.Epoch), m.well(now, from) && !m.givesWay(from, e):
		out.Send(from, m.refusal(now, e.Epoch))
		return
	}
	m.abandon()
	wait := now + m.jitter(4*m.patience())
	m.tryAt = wait
	m.halt(now, from, e.Epoch, e.NoQuorum, out)
	if m.config.Preempt {
		// A coordinator that is well gives way, and would search again sooner than the candidate can win while one of
		// the members it asks is silent.
		m.tryAt = wait
	}
}

// givesWay reports whether this member follows a candidate although its coordinator is well: the published rule of the
// highest id, or two sides of a partition that meet.
func (m *Machine) givesWay(candidate protocol.ID, e election.Election) bool {
	return m.config.Available && e.Merge || m.config.Preempt && candidate > m.leader()
}
