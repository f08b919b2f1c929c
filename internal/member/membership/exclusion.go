package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// exclude sets when the new authority may grant (docs/design/membership.md §7.5). All leases from the predecessor's
// coordinator end within D of the last promise; the promises of a lost tenure to its clients end within the reach of
// its own pledge after that, which already includes the drift of their clocks. Both count from the arrival of the
// promise, by a clock that may be the faster one. There is no wait if all have promised and no earlier wait was under
// way.
func (m *Machine) exclude(now protocol.Time, r *reign, s *election.Succession, forced bool) {
	waits, pred := s.Missing || forced, s.Predecessor
	if m.config.Available || protocol.Mutated("exclusion wait off") {
		m.inherit(r, s, 0, false)
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
	if pred == nil {
		waits = len(s.Votes) > 1 && !protocol.Mutated("bootstrap at once")
	} else if !pred.Open && !protocol.Mutated("open ignored") {
		waits = true
	}
	ended := last + m.config.stretch(m.leaseUnder(pred))
	if protocol.Mutated("one horizon for all") {
		ended += m.longestOf(s).Span()
	}
	if waits {
		r.openFrom = ended
	}
	m.inherit(r, s, ended, forced)
	r.grantFrom = max(r.grantFrom, r.openFrom)
}

// inherit gives the new coordinator every pledge in the promises, the newest of each tenure, and keeps those of past
// tenures for their time. Ended is the end of the leases of members that did not promise.
func (m *Machine) inherit(r *reign, s *election.Succession, ended protocol.Time, forced bool) {
	all := m.cell.Pledges
	for _, vote := range s.Votes {
		if !protocol.Mutated("promise without its pledges") {
			all = all.Join(vote.Pledges)
		}
	}
	all = all.Copy()
	forgetful := m.remembersTooLittle(s, forced)
	if forgetful && all.Top > 0 && !protocol.Mutated("attendance forgets the longest promise") {
		// Not of a member's tenure, so that any member elected during the wait knows of it too.
		all = all.With(election.Pledge{Tenure: protocol.Tenure{Incarnation: r.epoch.Counter}, Version: 1, Reach: all.Top})
	}
	kept := all.Of[:0]
	for _, pledge := range all.Of {
		known := pledged{id: pledge.ID, tenure: pledge.Tenure, since: 1}
		if place, listed := r.view.Of(pledge.ID); !listed || place.Tenure != pledge.Tenure {
			if known.gone, known.until = m.outlasts(s, pledge, ended, forgetful); !known.gone {
				continue
			}
			if s.Of(pledge.ID) == nil || !pledge.Tenure.Before(s.Of(pledge.ID).Self.Tenure) {
				r.openFrom = max(r.openFrom, known.until)
			}
		}
		r.pledges, kept = append(r.pledges, known), append(kept, pledge)
	}
	all.Of = kept
	m.roundOf, m.round, m.listed, m.stored = r.epoch, 0, 1, 0
	if r.topSince = 1; !all.Same(m.cell.Pledges) {
		m.cell.Pledges = all
	}
	m.remember()
}

// outlasts reports whether a past tenure's clients may still believe, and until when. A member's report on its own
// earlier tenures is exact; no member outside a view that was open believes anything, unless there was a later view
// that is forgotten.
func (m *Machine) outlasts(s *election.Succession, pledge election.Pledge, ended protocol.Time, forgetful bool) (bool, protocol.Time) {
	if pred := s.Predecessor; pred != nil && !forgetful {
		place, listed := pred.Of(pledge.ID)
		listed = listed && place.Tenure == pledge.Tenure
		if !listed && (pred.Open || pledge.ID != 0 && protocol.Mutated("pledges of the gone are forgotten")) {
			return false, 0
		}
	}
	vote := s.Of(pledge.ID)
	switch {
	case m.config.Available, vote != nil && vote.Leaving && vote.Empty:
		return false, 0
	case vote != nil && pledge.Tenure.Before(vote.Self.Tenure) && pledge.ID == m.self:
		return m.wait > 0, m.wait
	case vote != nil && pledge.Tenure.Before(vote.Self.Tenure):
		return vote.Owes > 0, vote.Received + m.config.stretch(vote.Owes)
	}
	return true, ended + pledge.Reach.Span()
}

// longestOf returns the longest reach in any promise.
func (m *Machine) longestOf(s *election.Succession) protocol.Reach {
	longest := m.cell.Pledges.Longest()
	for _, vote := range s.Votes {
		longest = max(longest, vote.Pledges.Longest())
	}
	return longest
}

// remembersTooLittle reports whether the members that have promised may not know all promises of others to their
// clients: founders that attend in place of a quorum whose memory is lost, or members that an operator has named.
func (m *Machine) remembersTooLittle(s *election.Succession, forced bool) bool {
	has := func(id protocol.ID) bool { return s.Of(id) != nil }
	return forced || s.Attendance && (s.Predecessor == nil || !election.Quorums(s.Predecessor.Needs(), has))
}

// openAt returns when no member outside the view can have holds any more.
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

// opensIn returns the time until the view is open; 0 if it is, or if that is not known yet.
func (m *Machine) opensIn(now protocol.Time) time.Duration {
	if at := m.openAt(); !m.reign.view.Open && at != protocol.Never {
		return max(0, at-now)
	}
	return 0
}

// expectOpen records when the view of this coordinator is expected to be open.
func (m *Machine) expectOpen(now protocol.Time) {
	if m.reign == nil || m.reign.view == nil {
		return
	}
	m.lease.Opens = 0
	if wait := m.opensIn(now); wait > 0 {
		m.lease.Opens = now + wait
	}
}

// openView marks the view open, as soon as it is.
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

// drop sets the end of each tenure that the new view no longer has: D after the arrival of the last clock reading that
// was echoed to it, plus the reach of its pledge for its clients.
func (m *Machine) drop(now protocol.Time, old, next *election.View) {
	r := m.reign
	keep := r.dropped[:0]
	for _, l := range r.dropped {
		if now < l.Free+2*m.config.Lease {
			keep = append(keep, l)
		}
	}
	r.dropped = keep
	m.noteExclusions(now)
	for _, member := range old.Members {
		place, listed := next.Of(member.ID)
		if !listed || place.Tenure != member.Tenure {
			free := max(now, m.freeFrom(member, place, listed))
			r.dropped = append(r.dropped, protocol.Dropped{ID: member.ID, Tenure: member.Tenure, Free: free})
			r.depart(member.ID, member.Tenure, free)
			if t := r.tracks[member.ID]; !listed && t != nil && t.leaving {
				r.leavers = append(r.leavers, member.ID)
			}
		}
	}
}

// freeFrom returns when the holds of a dropped tenure may be freed. A restart proves that the process has no holds, not
// that its clients know; and a delayed message of an older life proves nothing at all (V15).
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
	if member.Serves && !protocol.Mutated("clients freed at the lease") {
		free += m.reachOf(member.ID, member.Tenure).Span()
	}
	return free
}

// wasDropped reports whether a view of this epoch has dropped a tenure: it never comes back (V28).
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

// patienceWith returns how long a member may be silent before the view continues without it. It is longer than the
// patience with a coordinator: dropping a member later frees its names no later, and lets it survive a pause.
func (m *Machine) patienceWith(t *track) time.Duration {
	if t.doubted {
		return m.config.silence()
	}
	return 2 * m.config.silence()
}
