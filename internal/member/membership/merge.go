package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Partition mode any (docs/design/membership.md §8): no quorum is needed and no member is waited for, so each side of a
// partition continues under its own coordinator. Coordinators look for founders that are not with them; of two that
// meet, the one with the higher epoch leads both sides, under an epoch above both. A member whose side has lost its
// coordinator asks for a place by itself. Its tokens and its holds are of its own side's epoch: a coordinator of a
// higher epoch gives it a place, and gets its report; one of the same or a lower number joins the sides first.
//
// In mode primary no two sides can act, unless an operator has forced a view while the others were alive. Coordinators
// look for missing founders there, too, less often: a coordinator that learns of a newer installed view stops, and all
// join that one.

// lonesome reports whether founders are not in this coordinator's view.
func (m *Machine) lonesome() bool {
	return m.reign != nil && m.reign.installed && slices.ContainsFunc(m.rules.Founders, m.misses)
}

// misses reports whether a founder's address is known, and not in this coordinator's view.
func (m *Machine) misses(address string) bool {
	return address != "" && address != m.config.Address && !m.reign.view.Reaches(address)
}

// lookInterval returns the interval between status questions to a missing founder.
func (m *Machine) lookInterval() time.Duration {
	if m.config.Available {
		return m.config.silence()
	}
	return m.config.Lease
}

// lookAround asks missing founders for their status.
func (m *Machine) lookAround(now protocol.Time, out *protocol.Effects) {
	if now < m.reign.lookAt || !m.lonesome() {
		return
	}
	m.reign.lookAt = now + m.jitter(m.lookInterval())
	for _, address := range m.rules.Founders {
		if m.misses(address) {
			out.SendTo(address, election.StatusPoll{})
		}
	}
}

// meet handles the answer of a member of another side to lookAround.
func (m *Machine) meet(now protocol.Time, a election.StatusAnswer, out *protocol.Effects) {
	if !a.Well || a.View == nil || a.Coordinator == m.self || protocol.Mutated("no coordinator in the poll's answer") {
		return
	}
	if !m.config.Available {
		m.meetRival(now, a, out)
		return
	}
	r := m.reign
	if !r.served || r.proposal != nil || a.View.Rank(m.self) >= 0 {
		return
	}
	if !election.Less(a.View.Epoch, r.epoch) {
		// The lower side reports its coordinator's address to the higher one.
		if a.Number != 0 || a.Address != a.Self.Address {
			out.SendTo(a.Address, m.answer(now, 0, a.Coordinator))
		}
		return
	}
	m.merge(now, m.addresses(a.View), out)
}

// meetRival handles, in mode primary, the answer of a member that another coordinator leads. If that coordinator's view
// were newer, this one would have stopped (see adopt); so the other must. Two views forced at once may have the same
// number: then this one's epoch is raised, because no member follows two of one number.
func (m *Machine) meetRival(now protocol.Time, a election.StatusAnswer, out *protocol.Effects) {
	r := m.reign
	if !a.View.Installed || a.View.Cluster != r.view.Cluster || !election.Less(a.View.Epoch, r.epoch) {
		return
	}
	if a.View.Epoch.Counter == r.epoch.Counter {
		m.raise(now, r.epoch.Counter, a.Address, out)
		return
	}
	out.SendTo(a.Address, m.answer(now, 0, a.Coordinator))
}

// countsAlike reports whether a view of another side has the same number as the view that this member has accepted, or
// as the election that it has joined: each side may issue tokens of that number. This member keeps to its own, so that
// the other side's leader learns of it when it asks for a place, and begins another epoch. In mode primary only one of
// the two can serve.
func (m *Machine) countsAlike(v *election.View) bool {
	like := func(epoch protocol.Epoch) bool { return epoch.Counter == v.Epoch.Counter && epoch != v.Epoch }
	if protocol.Mutated("equal counters") {
		return false
	}
	return m.cell.Accepted != nil && like(m.cell.Accepted.Epoch) || m.config.Available && like(m.cell.promised())
}

// merge asks all members of this coordinator's side and of others to follow it under one epoch above all of theirs.
func (m *Machine) merge(now protocol.Time, others []string, out *protocol.Effects) {
	view := m.reign.view
	targets := append(m.addresses(view), others...)
	slices.Sort(targets)
	targets = slices.DeleteFunc(slices.Compact(targets), func(address string) bool { return address == "" || address == m.config.Address })
	m.endRole(now)
	m.canvass(now, &election.Ballot{View: view, Polled: targets, Merge: true}, out)
}
