package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// reign is a member's state as coordinator.
type reign struct {
	epoch     protocol.Epoch
	view      *election.View // the newest installed one; before that, the first
	installed bool
	served    bool // it has granted, or could have
	// proposal is the change under way, nil if there is none. The first view is a proposal until it is installed. Needs
	// are the electorates that must each accept it with a quorum; with attendance, all founders must instead. Written
	// reports that this member's own cell has it.
	proposal   *election.View
	written    bool
	needs      []election.Electorate
	voting     []election.Electorate // the electorate of voters' view alone, cached; see electorates
	votingOf   *election.View
	attendance bool
	hindered   protocol.Time     // since when the first view lacks only this member's acceptance; 0 if it does not
	trial      uint64            // the list that others write to prove that they can; 0 while this member can write
	voters     []election.Member // of the needs, besides the first view's members

	anchor   protocol.Time // sending time of the latest poll that the quorums have answered
	seq      uint64
	sent     []round // during the last lease
	nextPoll protocol.Time
	tracks   map[protocol.ID]*track

	grantFrom  protocol.Time
	openFrom   protocol.Time      // when members lost by the predecessor can have no holds; see exclusion
	dropped    []protocol.Dropped // tenures that are in no view any more, and when their holds are free
	leavers    []protocol.ID      // members that have left, and still wait for their Dropped
	joins      []election.Member  // members that ask for a place, each with its newest tenure
	rivals     []rival            // members that ask for a place under a name that is taken
	apart      []apart            // pairs of members that do not hear each other
	closed     []Closed           // members with closed spaces, as in its latest polls
	outcasts   []protocol.ID      // members to remove because of those pairs
	exclusions []exclusion        // members removed because of them
	count      uint32
	merged     bool          // it joins sides that continued alone
	lookAt     protocol.Time // time of the next question to missing founders

	pledges  []pledged     // one per tenure that has pledged
	topSince uint64        // the first list with the maximum of any pledge
	topUntil protocol.Time // by when all founders must have recorded that; 0 if they have
}

// round is a round of polls, with its sending time.
type round struct {
	seq uint64
	at  protocol.Time
}

// track is the coordinator's knowledge of a member, by its id.
type track struct {
	tenure   protocol.Tenure // newest heard of
	at       protocol.Time   // newest reading of its clock under that tenure
	known    bool            // at is valid
	received protocol.Time   // arrival of that reading
	echoed   protocol.Time   // arrival of the reading last echoed to it
	lent     bool            // a reading was echoed to it: it may have a lease of this reign
	answered protocol.Time   // sending time of the latest poll that it has answered
	replied  bool            // answered is valid
	heard    protocol.Time   // when it was last heard
	acked    uint64          // newest view that it has accepted
	reported bool
	leaving  bool
	empty    bool
	doubted  bool
	declared bool // it has reported its needs in this reign
	wants    protocol.Reach
	stored   uint64          // newest list of pledges that it has recorded
	unheard  []protocol.ID   // members that it does not hear
	closed   []protocol.Port // spaces closed at it
}

// win begins a reign: phases 3 and 4.
func (m *Machine) win(now protocol.Time, ballot *election.Ballot, s *election.Succession, out *protocol.Effects) {
	view := s.View
	if s.Predecessor == nil {
		view.Cluster = m.cell.Cluster
	}
	r := &reign{
		epoch: view.Epoch, view: view, proposal: view, attendance: s.Attendance,
		anchor: ballot.Sent, nextPoll: now, lookAt: now + m.lookInterval(), merged: s.Merged, tracks: map[protocol.ID]*track{},
	}
	r.needs = append(r.needs, s.Needs...)
	r.needs = append(r.needs, view.Electorate())
	for _, vote := range s.Votes {
		r.tracks[vote.Self.ID] = &track{
			tenure: vote.Self.Tenure, at: vote.At, known: true, received: vote.Received, heard: vote.Received,
			answered: ballot.Sent, replied: true, leaving: vote.Leaving, empty: vote.Empty,
		}
		if view.Rank(vote.Self.ID) < 0 {
			r.voters = append(r.voters, vote.Self)
		}
	}
	if s.Attendance || m.config.Available || ballot.Forced != nil {
		r.count = countOf(m.wall(now), view.Epoch.Counter)
	}
	m.exclude(now, r, s, ballot.Forced != nil)
	m.reign, m.deferred = r, 0
	if !m.config.Available { // it may coordinate alone there, before the others' answers have arrived
		m.trips.end(m.enough())
	}
	m.abandon()
	if len(view.Members) == 1 && election.Quorums(r.needs, func(id protocol.ID) bool { return id == m.self }) {
		// Its own acceptance installs it: one write records both.
		view.Installed, view.Base, view.Open = true, nil, r.openFrom <= now
		m.cell.Floor = max(m.cell.Floor, view.Epoch.Counter)
	}
	m.setPromises()
	m.accept(now, view, out)
	m.lead(now, out)
}

// alone reports whether this member coordinates only itself: no other votes, holds or waits, so its role and lease need
// no polls and never end.
func (m *Machine) alone() bool {
	r := m.reign
	return r != nil && len(r.view.Members) == 1 && r.view.Installed && (r.proposal == nil || !r.installed)
}

// members returns all members that the coordinator talks to: those of the proposal, those of the view that it would
// replace, and any others that must agree.
func (r *reign) members() []election.Member {
	if !r.proposes() {
		return r.view.Members
	}
	all := slices.Clone(r.proposal.Members)
	for _, member := range append(r.voters, r.view.Members...) {
		if r.proposal.Rank(member.ID) < 0 {
			all = append(all, member)
		}
	}
	return all
}

// place returns a member's place in what this coordinator leads; without a coordinator there is none.
func (r *reign) place(id protocol.ID) (election.Member, bool) {
	if r == nil {
		return election.Member{}, false
	}
	return r.current().Of(id)
}

func (r *reign) track(id protocol.ID, now protocol.Time) *track {
	t := r.tracks[id]
	if t == nil {
		t = &track{heard: now}
		r.tracks[id] = t
	}
	return t
}

// lead performs the coordinator's actions that are due.
func (m *Machine) lead(now protocol.Time, out *protocol.Effects) {
	m.installAccepted(now)
	m.change(now, out)
	if m.reign == nil {
		return
	}
	m.lookAround(now, out)
	m.tendPledges(now)
	m.reign.notifyLeavers(now, out)
	if m.alone() {
		m.hold(now)
		if m.reign.proposal != nil {
			m.acceptOwn(now)
		}
		return
	}
	if now >= m.reign.nextPoll {
		m.poll(now, out)
	}
	m.hold(now)
}

// reignWake returns when the coordinator must be stepped next. The machines above remember themselves when they may
// grant, and when a tenure's holds may be freed; the next poll reports an open view; and until the view is written,
// only the disk can help.
func (m *Machine) reignWake() protocol.Time {
	r := m.reign
	at := protocol.Never
	if m.lonesome() {
		at = r.lookAt
	}
	if !m.alone() {
		return min(at, r.nextPoll, m.lease.Role)
	}
	if open := m.openAt(); (r.installed || protocol.Mutated("opening a view that is not written")) && !r.view.Open && open > 0 {
		at = min(at, open)
	}
	return at
}

// hold extends the role: D after the sending of the latest poll that quorums have answered. It is also this member's
// own lease.
func (m *Machine) hold(now protocol.Time) {
	r := m.reign
	until := protocol.Never
	if !m.alone() {
		until = r.anchor + m.config.Lease
	}
	if until > now+m.config.Lease && !m.alone() {
		must(false, "a role of %v rests on no poll that a quorum has answered", until-now)
	}
	m.lease.Role = until
	if place, listed := r.current().Of(m.self); !listed || place.Tenure != m.lease.Tenure || m.exit.ended() {
		return
	}
	if m.leased && m.lease.Member == protocol.Never && until != protocol.Never {
		m.lease.Member = until // no longer alone: nothing was ever lent beyond this
		m.carry()
	}
	if until > now {
		m.extend(until)
	}
}

// poll sends a round of polls.
func (m *Machine) poll(now protocol.Time, out *protocol.Effects) {
	r := m.reign
	r.seq++
	r.nextPoll = now + m.config.poll()
	keep := slices.IndexFunc(r.sent, func(s round) bool { return s.at > now-m.config.Lease })
	if keep < 0 {
		keep = len(r.sent)
	}
	r.sent = append(r.sent[keep:], round{r.seq, now})
	view := r.current()
	own := r.track(m.self, now)
	own.answered, own.replied, own.heard = now, true, now
	own.tenure, own.reported = m.lease.Tenure, m.reported()
	m.drawAnchor(now)
	role := r.anchor + m.config.Lease - now
	r.closed = m.closedAnywhere()
	for _, member := range r.members() {
		if member.ID != m.self {
			m.pollMember(now, view, member, role, out)
		}
	}
	if r.proposal != nil {
		m.acceptOwn(now)
	}
}

// pollMember sends one poll, or the view in its place until it is accepted. The echo is what grants a lease, so only a
// place in the view gets one, under the tenure of the reading: no member that the view drops is renewed (V24, V28). A
// newcomer hears of its place, and gets its first echo, once this member's own acceptance is written: otherwise a next
// life that did not know of it might be a quorum by itself, miss no member, and wait for nothing.
func (m *Machine) pollMember(now protocol.Time, view *election.View, member election.Member, role time.Duration, out *protocol.Effects) {
	r := m.reign
	t := r.track(member.ID, now)
	poll := Poll{
		Epoch: r.epoch, View: view.Number, Seq: r.seq, Role: role, List: m.listed, Most: m.mostHere(),
		Closed: r.closed, Installed: view.Installed, Open: view.Open, Wait: m.opensIn(now),
	}
	place, listed := view.Of(member.ID)
	withheld := protocol.Mutated("survivors end their locks") && !r.served
	if listed && t.known && place.Tenure == t.tenure && !withheld {
		poll.Echo, poll.Tenure = t.at, t.tenure
		t.echoed, t.lent = t.received, true
		if known := r.pledge(member.ID, t.tenure); known != nil {
			poll.Recorded = known.recorded
		}
	}
	if t.stored < m.listed {
		poll.Pledges = m.cell.Pledges.Copy()
	}
	if t.acked >= view.Number {
		out.Send(member.ID, poll)
		return
	}
	out.Send(member.ID, NewView{Poll: poll, View: view})
}

func (m *Machine) onPollAnswer(now protocol.Time, from protocol.ID, a PollAnswer, out *protocol.Effects) {
	r := m.reign
	m.seen = max(m.seen, a.Epoch.Counter)
	if r == nil || a.Epoch != r.epoch {
		return
	}
	if !slices.ContainsFunc(r.members(), func(member election.Member) bool { return member.ID == from }) {
		if a.Leaving || r.wasDropped(from, a.Tenure) {
			out.Send(from, Dropped{Epoch: r.epoch, Tenure: a.Tenure})
		}
		return
	}
	t := r.track(from, now)
	t.heard, t.doubted = now, false
	t.acked = max(t.acked, a.View)
	i := slices.IndexFunc(r.sent, func(s round) bool { return s.seq == a.Seq })
	if i >= 0 && (!t.replied || r.sent[i].at > t.answered) {
		t.answered, t.replied = r.sent[i].at, true
	}
	if t.tenure.Before(a.Tenure) || t.tenure == a.Tenure && a.At >= t.at {
		t.take(now, a)
		m.onPledge(from, a)
	}
	m.drawAnchor(now)
	m.installAccepted(now)
}

// take records a member's report on itself.
func (t *track) take(now protocol.Time, a PollAnswer) {
	if t.tenure != a.Tenure {
		t.stored = 0
	}
	t.stored = max(t.stored, a.Stored)
	t.tenure, t.at, t.known, t.received, t.declared = a.Tenure, a.At, true, now, true
	t.wants, t.reported, t.leaving, t.empty, t.unheard = a.Wants, a.Reported, a.Leaving, a.Empty, a.Unheard
	t.closed = a.Closed
}

// renewed resets the track: the member begins another tenure, of which nothing is known yet.
func (t *track) renewed(now protocol.Time, tenure protocol.Tenure) {
	t.tenure, t.heard = tenure, now
	t.at, t.known, t.declared, t.reported, t.leaving, t.empty, t.unheard, t.closed, t.stored = 0, false, false, false, false, false, nil, nil, 0
}

// drawAnchor moves the beginning of the role to the latest poll that the quorums have answered: that of the installed
// view and, while a proposal is under way, of every view whose quorum it needs (V11).
func (m *Machine) drawAnchor(now protocol.Time) {
	r := m.reign
	needs := r.electorates()
	switch {
	case m.config.Available:
		r.anchor = max(r.anchor, now)
		return
	case r.proposes() && protocol.Mutated("role counted on a proposal"):
		needs = []election.Electorate{r.proposal.Electorate()}
	}
	anchor, ok := r.reached(needs, func(t *track) (protocol.Time, bool) { return t.answered, t.replied })
	if ok {
		r.anchor = max(r.anchor, anchor)
	}
}

// electorates returns those that must each agree, with a quorum, to any view that replaces the polled one: that of the
// installed view and, while a proposal is under way, of every view whose quorum it needs.
func (r *reign) electorates() []election.Electorate {
	if r.proposes() {
		return r.needs
	}
	if r.votingOf != r.view {
		r.voting, r.votingOf = []election.Electorate{r.view.Electorate()}, r.view
	}
	return r.voting
}

// reached returns the maximum that a quorum of each electorate has reached, or with attendance every founder. The
// function of returns how far a member is, and whether that is known.
func (r *reign) reached(needs []election.Electorate, of func(*track) (protocol.Time, bool)) (protocol.Time, bool) {
	by := func(id protocol.ID) (protocol.Time, bool) {
		if t := r.tracks[id]; t != nil {
			return of(t)
		}
		return 0, false
	}
	least := protocol.Never
	for _, e := range needs {
		since, ok := e.Since(by)
		if !ok {
			return 0, false
		}
		least = min(least, since)
	}
	if !r.attendance {
		return least, len(needs) > 0
	}
	for _, id := range r.proposal.Electorate().Voters {
		at, ok := by(id)
		if !ok {
			return 0, false
		}
		least = min(least, at)
	}
	return least, true
}

// installAccepted installs the proposal when its quorums have accepted it.
func (m *Machine) installAccepted(now protocol.Time) {
	r := m.reign
	if r.proposal == nil {
		return
	}
	accepted := func(id protocol.ID) bool {
		t := r.tracks[id]
		return t != nil && t.acked >= r.proposal.Number
	}
	enough := m.config.Available || election.Quorums(r.needs, accepted)
	if r.attendance {
		voters := r.proposal.Electorate().Voters
		enough = !slices.ContainsFunc(voters, func(id protocol.ID) bool { return !accepted(id) })
	}
	if !enough || !accepted(m.self) {
		return
	}
	m.install(now)
}

// install makes the proposal the view whose quorum counts.
func (m *Machine) install(now protocol.Time) {
	r := m.reign
	old := r.view
	if r.view = r.proposal; !r.view.Installed {
		known := *r.proposal
		known.Installed, known.Base = true, nil
		r.view = &known
	}
	must(!r.installed || r.view.Number == old.Number+1, "view %d follows view %d", r.view.Number, old.Number)
	if r.installed {
		m.drop(now, old, r.view)
	} else {
		r.dismissVoters()
	}
	r.proposal, r.written, r.needs, r.attendance, r.voters = nil, false, nil, false, nil
	r.installed = true
	r.nextPoll = now
	if m.cell.Accepted != r.view {
		m.cell.Accepted = r.view
		m.cell.Floor = max(m.cell.Floor, r.epoch.Counter)
		m.remember()
	}
	m.openView(now)
	for _, member := range r.view.Members {
		r.track(member.ID, now)
	}
}

// dismissVoters adds the leaving voters of this reign's first view to the members that get Dropped. They do not hear of
// its installation otherwise: polls go only to members with a place.
func (r *reign) dismissVoters() {
	for _, voter := range r.voters {
		if t := r.tracks[voter.ID]; t != nil && t.leaving {
			r.leavers = append(r.leavers, voter.ID)
		}
	}
}

// notifyLeavers informs members that have left that they are out.
func (r *reign) notifyLeavers(now protocol.Time, out *protocol.Effects) {
	for _, id := range r.leavers {
		out.Send(id, Dropped{Epoch: r.epoch, Tenure: r.track(id, now).tenure})
	}
	r.leavers = nil
}

// cease ends the role because its time is over.
func (m *Machine) cease(now protocol.Time, out *protocol.Effects) {
	m.endRole(now)
	out.Raise(&protocol.Halted{Promised: m.lease.Promised})
}

// endRole ends all granting by this member. Its own lease stays as lent.
func (m *Machine) endRole(now protocol.Time) {
	m.lease.Role = min(m.lease.Role, now)
	if m.leased && m.lease.Member == protocol.Never {
		m.lease.Member = now + m.config.Lease
		m.carry()
	}
	if m.cell.Accepted.Same(m.reign.proposal) && m.accepted() != m.cell.Accepted {
		m.cell.Accepted = m.reign.view // no other member has heard of the proposal
		m.remember()
	}
	m.reign = nil
	m.followed, m.candidate = false, 0
	m.tryAt = now + m.jitter(m.patience()/2)
}
