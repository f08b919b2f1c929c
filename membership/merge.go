package membership

import (
	"slices"

	"github.com/holdfast-locks/holdfast/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Partition mode any (membership.md §8): no quorum is needed and nobody is waited for,
// so each side of a partition goes on under a coordinator of its own. Coordinators
// look for founders that are not with them; of two that meet, the one of the higher
// epoch leads both sides, under an epoch above all of theirs.

// lonesome lists the founders' addresses that are not in this coordinator's view.
func (m *Machine) lonesome() []string {
	if !m.config.Available || m.reign == nil || !m.reign.installed {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.rules.Founders), func(address string) bool {
		return address == "" || address == m.config.Address || slices.ContainsFunc(m.reign.view.Members, func(member election.Member) bool {
			return member.Address == address
		})
	})
}

// lookAround asks those who are missing how they are.
func (m *Machine) lookAround(now protocol.Time, out *protocol.Effects) {
	missing := m.lonesome()
	if len(missing) == 0 || now < m.reign.lookAt {
		return
	}
	m.reign.lookAt = now + m.jitter(m.config.silence())
	for _, address := range missing {
		out.SendTo(address, election.StatusPoll{})
	}
}

// meet is told how a member of another side is. The lower side tells the coordinator
// of the higher one where it is.
func (m *Machine) meet(now protocol.Time, a election.StatusAnswer, out *protocol.Effects) {
	r := m.reign
	if !m.config.Available || !r.served || r.proposal != nil || !a.Well || a.View == nil || a.Coordinator == m.self || a.View.Rank(m.self) >= 0 {
		return
	}
	if !election.Less(a.View.Epoch, r.epoch) {
		if a.Ask != 0 || a.Address != a.Self.Address {
			out.SendTo(a.Address, m.answer(now, 0, a.Coordinator))
		}
		return
	}
	asked := append(m.addresses(r.view), m.addresses(a.View)...)
	slices.Sort(asked)
	ballot := &election.Ballot{View: r.view, Asked: slices.Compact(asked), Merge: true}
	m.endRole(now)
	m.canvass(now, ballot, out)
}
