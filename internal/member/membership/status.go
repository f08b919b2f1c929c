package membership

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// sighting records when a member was first seen in a view under its tenure.
type sighting struct {
	id     protocol.ID
	tenure protocol.Tenure
	since  protocol.Time
}

// publish raises the view that this member follows, whenever it has changed. A change by a live coordinator is raised
// at the coordinator when it is installed, and at the members when they have accepted it.
func (m *Machine) publish(now protocol.Time, out *protocol.Effects) {
	m.expectOpen(now)
	source := m.cell.Accepted
	if m.reign != nil {
		source = m.reign.view
	}
	if !m.publishing || source == nil || m.reign != nil && m.alone() && !m.reign.installed {
		return
	}
	if m.raised != nil && m.matches(m.raised, source) {
		return
	}
	m.raised, m.raisedOf = m.viewOf(source), source
	m.see(now, source)
	out.Raise(m.raised)
}

// viewOf returns a view as the machines above see it.
func (m *Machine) viewOf(source *election.View) *protocol.View {
	v := &protocol.View{
		Number: source.Number, Epoch: source.Epoch, Coordinator: source.Epoch.Candidate,
		Installed: source.Installed, Open: source.Open, GrantFrom: protocol.Never, Lease: &m.lease,
		Members: make([]protocol.Member, len(source.Members)),
	}
	for i, member := range source.Members {
		v.Members[i] = member.Member
	}
	if r := m.reign; r != nil {
		v.GrantFrom, v.Count, v.Installed, v.Merged = r.grantFrom, r.count, r.installed, r.merged
		v.Dropped = slices.Clone(r.dropped)
	}
	return v
}

// matches reports whether v equals viewOf(source): a view is compared after every event, and built only if it differs.
func (m *Machine) matches(v *protocol.View, source *election.View) bool {
	grantFrom, installed, dropped := protocol.Never, source.Installed, []protocol.Dropped(nil)
	if r := m.reign; r != nil {
		grantFrom, installed, dropped = r.grantFrom, r.installed, r.dropped
	}
	return v.Number == source.Number && v.Epoch == source.Epoch && v.Installed == installed && v.Open == source.Open && v.GrantFrom == grantFrom &&
		slices.Equal(v.Dropped, dropped) && (source == m.raisedOf || m.hasMembers(v, source))
}

// hasMembers reports whether v has the members of source, and remembers a positive result.
func (m *Machine) hasMembers(v *protocol.View, source *election.View) bool {
	if len(v.Members) != len(source.Members) {
		return false
	}
	for i := range v.Members {
		if v.Members[i] != source.Members[i].Member {
			return false
		}
	}
	m.raisedOf = source
	return true
}

// see records new members.
func (m *Machine) see(now protocol.Time, v *election.View) {
	seen := make([]sighting, 0, len(v.Members))
	for _, member := range v.Members {
		s := sighting{member.ID, member.Tenure, now}
		if i := slices.IndexFunc(m.since, func(o sighting) bool { return o.id == s.id && o.tenure == s.tenure }); i >= 0 {
			s = m.since[i]
		}
		seen = append(seen, s)
	}
	m.since = seen
	m.roll(now, v)
}

// who returns this member's knowledge of itself and of the others.
func (m *Machine) who(now protocol.Time) *Self {
	s := &Self{
		Cell: m.cell, Horizon: m.horizon, Until: protocol.Never, Election: m.variables(),
		Founders: len(m.founders), Missing: m.missing(now),
	}
	if m.raised != nil {
		view, lease := *m.raised, m.lease // the originals keep changing
		view.Lease = &lease
		s.View = &view
	}
	s.State, s.Why, s.Until = m.state(now)
	s.Uncounted = m.isUncounted(s.State)
	if m.unsaved(now) {
		s.Stale = &Staleness{Since: m.tryingAt, Why: whyUnsaved(m.failed)}
		if m.exit == nil {
			s.Why = m.whatStales()
		}
	}
	own := Standing{Member: m.config.member(m.self, m.lease.Tenure), State: s.State, Election: s.Election.Status, Since: m.begun, Closed: m.closed.here}
	source := m.cell.Accepted
	if m.reign != nil {
		source = m.reign.view
	}
	if source == nil || !m.publishing {
		s.Members = []Standing{own}
		return s
	}
	for _, member := range source.Members {
		place := Standing{Member: member, Election: s.Election.Status, State: m.stateOf(now, member), Closed: m.closedAt(member)}
		if i := slices.IndexFunc(m.since, func(o sighting) bool { return o.id == member.ID && o.tenure == member.Tenure }); i >= 0 {
			place.Since = m.since[i].since
		}
		if member.ID == m.self {
			place.State, place.Election = s.State, s.Election.Status
		}
		s.Members = append(s.Members, place)
	}
	if source.Rank(m.self) < 0 {
		s.Members = append(s.Members, own)
	}
	return s
}

// variables returns those of the course notes.
func (m *Machine) variables() election.Variables {
	v := election.Variables{Status: m.status(), Candidate: m.candidate, Coordinator: m.leader()}
	switch {
	case m.reign != nil:
		for _, member := range m.reign.current().Members {
			v.Active = append(v.Active, member.ID)
			if t := m.reign.tracks[member.ID]; t != nil && t.acked >= m.reign.current().Number {
				v.Answers = append(v.Answers, member.ID)
			}
		}
	case m.ballot != nil:
		for _, vote := range m.ballot.Votes {
			v.Answers = append(v.Answers, vote.Self.ID)
		}
	case m.survey != nil:
		for _, answer := range m.survey.Answers {
			v.Answers = append(v.Answers, answer.Self.ID)
		}
	}
	return v
}

// state returns this member's state and, if it is not well, the reason.
func (m *Machine) state(now protocol.Time) (State, string, protocol.Time) {
	place, listed := m.cell.Accepted.Of(m.self)
	switch {
	case m.exit != nil:
		return Leaving, "it was asked to leave", protocol.Never
	case m.reign == nil && (!m.followed || !listed || place.Tenure != m.lease.Tenure):
		why, until := m.whyJoining(now)
		return Joining, why, until
	case m.reign != nil && !m.reign.installed, m.reign == nil && !m.cell.Accepted.Installed:
		return Recovering, "the view is not installed yet", protocol.Never
	case m.reign != nil && now < m.reign.grantFrom:
		return Recovering, "waiting until what was promised under an earlier authority has run out", m.reign.grantFrom
	case m.reign != nil && !m.reign.served:
		return Recovering, "waiting for what the members hold", protocol.Never
	}
	return Present, "", protocol.Never
}

// isUncounted computes [Self.Uncounted].
func (m *Machine) isUncounted(state State) bool {
	switch {
	case !m.config.Founder:
		return false
	case state == Joining, m.cell.Accepted == nil: // a leaving member may never have had a view
		return true
	}
	return slices.ContainsFunc(m.cell.Accepted.Needs(), func(e election.Electorate) bool { return !slices.Contains(e.Voters, m.self) })
}

// whyJoining returns why this member has no place, and until when, if known.
func (m *Machine) whyJoining(now protocol.Time) (why string, until protocol.Time) {
	switch {
	case m.unfit:
		return "it cannot take part", protocol.Never
	case m.status() == election.Halted:
		return "an election is under way", protocol.Never
	case m.mustHear != "":
		return fmt.Sprintf("it and member %s do not hear each other, and a space needs that they do: mend their link", m.mustHear), protocol.Never
	case now < m.placesFrom && m.reign == nil:
		return "its coordinator gives no places before what was promised under an earlier authority has run out", m.placesFrom
	case m.dissents() && m.config.Founder:
		theirs, ours := firstDifference(m.cell.Accepted.Terms, m.terms)
		return fmt.Sprintf("waiting for every founder to agree on %q in the place of %q", ours, theirs), protocol.Never
	case m.cell.Accepted == nil && m.config.Founder:
		return "the first view needs every voter: " + m.awaited(now), protocol.Never
	case m.cell.Accepted == nil, m.applied && m.reign == nil:
		return "waiting to be admitted", protocol.Never
	}
	return "no coordinator is known that a quorum follows", protocol.Never
}

// whatStales describes the consequence of a cell that cannot be written.
func (m *Machine) whatStales() string {
	text := "its state cannot be written (" + whyUnsaved(m.failed) + ")"
	switch {
	case m.reign == nil:
		return text + ": until it can, this member has no vote, and leads no other"
	case len(m.rules.Founders) > 1:
		return text + ": until it can, no member can come, and what lost members held is not free; no other member can be elected"
	}
	return text + ": until it can, no member can come, and a restart may have to wait for more than it must"
}

// stateOf returns the apparent state of another member.
func (m *Machine) stateOf(now protocol.Time, member election.Member) State {
	if m.reign == nil {
		if member.ID == m.cell.Accepted.Epoch.Candidate && !m.content(now) {
			return Suspected
		}
		return Present
	}
	t := m.reign.track(member.ID, now)
	switch {
	case t.leaving:
		return Leaving
	case t.doubted || now >= t.heard+m.config.silence():
		return Suspected
	case t.tenure != member.Tenure:
		return Joining
	}
	return Present
}

// doubt records a rumour of a member's death or life.
func (r *reign) doubt(hint protocol.Hint) {
	for _, member := range r.current().Members {
		if t := r.tracks[member.ID]; t != nil && member.Address == hint.Address {
			t.doubted = !hint.Alive
		}
	}
}
