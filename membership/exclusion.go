package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// exclude says when the new authority may grant (membership.md §7.5). Whatever the
// predecessor's coordinator has lent ends within D of the last promise; and what
// clients were told, within the horizon after that. Both count here from when the
// promise came, by a clock that may be the faster one. Nobody is waited for if
// everybody has promised and nobody else was left to be waited for.
func (m *Machine) exclude(now protocol.Time, r *reign, s *election.Succession, forced bool) {
	if m.config.Available || protocol.Mutated("exclusion wait off") {
		return
	}
	var last protocol.Time
	for _, vote := range s.Votes {
		last = max(last, vote.Received)
		owed := vote.Received + m.config.stretch(vote.Owes)
		if vote.Self.ID == m.self {
			owed = m.wait
		}
		if vote.Owes > 0 && !protocol.Mutated("restart counts as proof") {
			r.grantFrom = max(r.grantFrom, owed)
		}
	}
	pred := s.Predecessor
	waits := s.Missing || forced
	if pred == nil {
		waits = len(s.Votes) > 1 && !protocol.Mutated("bootstrap at once")
	} else if !pred.Open && !protocol.Mutated("open ignored") {
		waits = true
	}
	if waits {
		r.openFrom = last + m.config.stretch(m.leaseUnder(pred)) + m.config.stretch(r.horizon)
		r.grantFrom = max(r.grantFrom, r.openFrom)
	}
}

// openAt is when nobody outside the view can hold anything any more.
func (m *Machine) openAt() protocol.Time {
	r := m.reign
	at := r.openFrom
	if len(r.view.Members) > 1 {
		at = max(at, r.grantFrom)
	}
	for _, l := range r.dropped {
		at = max(at, l.Free)
	}
	return at
}

// openView notes that the view is open, as soon as it is.
func (m *Machine) openView(now protocol.Time) {
	r := m.reign
	if !r.installed || r.view.Open || now < m.openAt() {
		return
	}
	open := *r.view
	open.Open = true
	if m.cell.Accepted.Same(r.view) {
		m.cell.Accepted = &open
	}
	r.view = &open
}

// drop counts out whoever the new view does not have under its tenure any more: D
// after the last reading of its clock came that was echoed to it, and the horizon for
// its clients (membership.md §4).
func (m *Machine) drop(now protocol.Time, old, next *election.View) {
	r := m.reign
	keep := r.dropped[:0]
	for _, l := range r.dropped {
		if now < l.Free+2*m.config.Lease {
			keep = append(keep, l)
		}
	}
	r.dropped = keep
	m.partWith(now)
	for _, member := range old.Members {
		place, listed := next.Of(member.ID)
		if !listed || place.Tenure != member.Tenure {
			free := max(now, m.freeFrom(member, place, listed))
			r.dropped = append(r.dropped, protocol.Dropped{ID: member.ID, Tenure: member.Tenure, Free: free})
			if t := r.tracks[member.ID]; !listed && t != nil && t.leaving {
				r.leavers = append(r.leavers, member.ID)
			}
		}
	}
}

// freeFrom is when what a dropped tenure holds may be freed. A restart proves that the
// process holds nothing, not that its clients know; and a delayed message of an
// older life proves nothing at all (V15).
func (m *Machine) freeFrom(member, place election.Member, listed bool) protocol.Time {
	t := m.reign.tracks[member.ID]
	restarted := listed && place.Tenure.Incarnation > member.Tenure.Incarnation
	switch {
	case t == nil, !t.lent, m.config.Available:
		return 0
	case t.leaving && (t.empty || protocol.Mutated("leaving counts as proof")), restarted && !member.Serves:
		return 0
	case restarted && protocol.Mutated("restart counts as proof"), protocol.Mutated("exclusion wait off"):
		return 0
	}
	free := t.echoed + m.config.stretch(m.config.Lease)
	if member.Serves {
		free += m.config.stretch(m.reign.horizon)
	}
	return free
}

// wasDropped reports whether this epoch's views have left a tenure behind: it never
// comes back (V28).
func (r *reign) wasDropped(id protocol.ID, tenure protocol.Tenure) bool {
	if protocol.Mutated("dropped tenure admitted again") {
		return false
	}
	for _, l := range r.dropped {
		if l.ID == id && !l.Tenure.Before(tenure) {
			return true
		}
	}
	return false
}

// silence is how long a member may say nothing before the view goes on without it. It
// is longer than the patience with a coordinator: dropping it later frees its names
// no later, and a pause costs it nothing.
func (m *Machine) patienceWith(t *track) time.Duration {
	if t.doubted {
		return m.config.silence()
	}
	return 2 * m.config.silence()
}
