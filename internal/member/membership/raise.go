package membership

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// raise runs an election for this member above every epoch it has heard of, keeping its view: a wanted member has
// promised a higher one, and could never be admitted otherwise. Before this member serves, the election restarts
// anyway. In mode any that member may come from another side: that side is merged as a whole, with its holds.
func (m *Machine) raise(now protocol.Time, above uint64, address string, out *protocol.Effects) {
	m.seen = max(m.seen, above)
	if above >= protocol.MaxEpoch {
		out.Note(OutOfEpochs{})
		return // none is higher: a member that has promised it cannot be led
	}
	if above < m.reign.epoch.Counter || protocol.Mutated("epoch not raised") {
		return
	}
	if !m.reign.served {
		m.cease(now, out)
		return
	}
	if m.config.Available {
		m.merge(now, []string{address}, out)
		return
	}
	view := m.reign.view
	m.endRole(now)
	m.elect(now, view, false, out)
}

// onNeedEpoch begins another reign, because the counter of this one is exhausted.
func (m *Machine) onNeedEpoch(now protocol.Time, need *protocol.NeedEpoch, out *protocol.Effects) {
	m.cell.Floor = max(m.cell.Floor, need.Above)
	if m.reign == nil || m.reign.epoch.Counter > need.Above {
		return // not here, or under way
	}
	view := m.reign.view
	if m.above(false, now) > protocol.MaxEpoch {
		out.Note(OutOfEpochs{})
		return
	}
	if m.alone() && m.reign.installed {
		m.again(now, view, out)
		return
	}
	m.endRole(now)
	m.elect(now, view, false, out)
}

// again begins another reign of a member alone, with one write for all of it. It leads until it has left, also during
// the leave.
func (m *Machine) again(now protocol.Time, view *election.View, out *protocol.Effects) {
	m.cell.Promised, m.cell.Candidate = m.above(false, now), m.self
	m.lease.Promised = m.cell.Promised
	ballot := &election.Ballot{Epoch: m.cell.promised(), Sent: now, View: view, Terms: m.terms}
	promise := m.promise(now, ballot.Epoch)
	promise.Leaving = false // a successor would have no place for it
	ballot.Take(promise, now)
	m.win(now, ballot, ballot.Count(m.self, m.rules), out)
}

// OutOfEpochs notes that no epoch is left above those known here: some member has invented one, because honest members
// cannot use up the seconds.
type OutOfEpochs struct{}

func (OutOfEpochs) String() string {
	return fmt.Sprintf("no epoch is left above %d, which a member has promised", uint64(protocol.MaxEpoch))
}
