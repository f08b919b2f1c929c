package sim

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// suffices reports whether the members of a core can work without all others.
func (w *world) suffices(c *core) bool {
	if w.settings.faults.Has(Any) && slices.ContainsFunc(w.members, func(m *process) bool { return c.in[m.place] && m.goesOn() }) {
		return true
	}
	there, guests := map[protocol.ID]bool{}, map[protocol.ID][]*election.View{}
	var views, founderViews []*election.View // of all, and of founders
	all, founders, here := true, 0, 0        // of the founders
	for i, m := range w.members {
		id, accepted := m.remembers()
		there[id] = c.in[i]
		if c.in[i] || c.hears(m) {
			accepted = slices.DeleteFunc(accepted, c.disowned(w))
			views = append(views, accepted...)
			if m.founder {
				founderViews = append(founderViews, accepted...)
			} else {
				guests[id] = accepted
			}
		}
		all = all && (c.in[i] || !m.founder)
		if m.founder {
			founders++
			if c.in[i] {
				here++
			}
		}
	}
	if w.protocol.Logs && (here <= founders/2 || !c.hasLogs(w)) {
		return false
	}
	newest := election.NewestOf(views...)
	if newest == nil || all || w.settings.faults.Has(Any) || !w.fits(newest) {
		return all
	}
	return enough(newest, there) && enough(election.NewestOf(withGuests(founderViews, guests)...), there)
}

// withGuests adds to the views of founders those of guests in these views. Members that elect do not ask any other
// guest: what only such a guest knows, for example that a view is installed, does not help them.
func withGuests(views []*election.View, guests map[protocol.ID][]*election.View) []*election.View {
	all := slices.Clone(views)
	for _, v := range views {
		for _, at := range v.Members {
			all = append(all, guests[at.ID]...)
		}
	}
	return all
}

// enough reports whether members are a quorum of a view, and of each in its base.
func enough(v *election.View, there map[protocol.ID]bool) bool {
	if v == nil {
		return false
	}
	var voters []protocol.ID
	for _, at := range v.Members {
		if at.Founder {
			voters = append(voters, at.ID)
		}
	}
	are := quorate(voters, there)
	for _, before := range v.Base {
		are = are && quorate(before.Voters, there)
	}
	return are
}

// quorate reports whether more than half of some voters are there, or half of them including the most senior one.
func quorate(voters []protocol.ID, there map[protocol.ID]bool) bool {
	count := 0
	for _, id := range voters {
		if there[id] {
			count++
		}
	}
	return 2*count > len(voters) || 2*count == len(voters) && count > 0 && there[voters[0]]
}

// remembers returns the id with which a member will continue, and the views that it has accepted: those on disk and,
// while it runs, the one that it is about to sync.
func (m *process) remembers() (id protocol.ID, accepted []*election.View) {
	if m.kept && m.disk.synced != nil {
		if cell, err := membership.DecodeCell(m.disk.synced); err == nil {
			id = cell.ID
			accepted = append(accepted, cell.Accepted)
		}
	}
	if m.up {
		id = m.id
		if m.cell != nil {
			accepted = append(accepted, m.cell().Accepted)
		}
	}
	return id, slices.DeleteFunc(accepted, func(v *election.View) bool { return v == nil })
}

// disowned reports whether a view is a change that its coordinator, a member of the rest, has not written. The
// coordinator does not send a change before it is written, so a core must not depend on it. For a member that has lost
// a cell since, its writes are unknown.
func (c *core) disowned(w *world) func(*election.View) bool {
	return func(v *election.View) bool {
		m := w.network.of[v.Epoch.Candidate]
		if m == nil || c.in[m.place] || !m.kept || m.forgot {
			return false
		}
		cell, err := membership.DecodeCell(m.disk.synced)
		return err == nil && cell.Accepted != nil && cell.Accepted.Epoch == v.Epoch && v.Newer(cell.Accepted)
	}
}
