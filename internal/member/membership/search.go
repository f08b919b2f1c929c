package membership

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// search is the state of a member that looks for a coordinator, or becomes one.
type search struct {
	seen        uint64 // highest epoch counter heard of
	coordinator protocol.ID
	candidate   protocol.ID    // member whose election was accepted last
	resigned    protocol.Epoch // epoch of the coordinator that has resigned, as far as this member has heard
	tryAt       protocol.Time
	deferred    int    // how often it has deferred to a more senior one since
	surveys     uint64 // numbers used; earlier lives are in the bits above protocol.NumberBits, so an answer to one is void
	survey      *election.Survey
	objectors   []election.StatusAnswer // founders that have answered it and disagree
	ballot      *election.Ballot
	until       protocol.Time // deadline for the answers of the current phase
	repeatAt    protocol.Time // when the question is repeated
	forcing     *forcing      // an operator's order; nil if none
	hears       []protocol.ID // members that have answered the latest survey
	trips       trips         // measured round trips
	mustHear    string        // the member that this one must hear before it gets a place; "" if no coordinator requires one
	applied     bool          // it has asked a coordinator for a place, after the latest survey
	placesFrom  protocol.Time // when the coordinator is expected to admit members, if it has reported a wait; 0 otherwise
}

// content reports whether a coordinator leads this member: it need not search.
func (m *Machine) content(now protocol.Time) bool {
	return m.followed && (now < m.heard+m.limit() || protocol.Mutated("no member-side check"))
}

func (m *Machine) searchWake() protocol.Time {
	switch {
	case m.exit != nil && m.exit.out:
		return protocol.Never
	case m.survey != nil || m.ballot != nil:
		return min(m.until, m.repeatAt)
	case m.forcing != nil:
		return m.forcing.again
	case m.preempts():
		return m.tryAt
	case m.followed && protocol.Mutated("no member-side check"):
		return protocol.Never
	case m.followed:
		return max(m.tryAt, m.heard+m.limit())
	}
	return m.tryAt
}

// preempts reports whether this member replaces a coordinator that is well: the published rule of the highest id. It
// waits for the view to be open, so that there is no further wait for any member.
func (m *Machine) preempts() bool {
	v := m.cell.Accepted
	if !m.config.Preempt || !m.config.Founder || !m.followed || !m.leased || m.exit != nil || !v.Open || m.self < m.coordinator {
		return false
	}
	return v.Rank(m.self) >= 0 && !slices.ContainsFunc(v.Members, func(o election.Member) bool { return o.Founder && o.ID > m.self })
}

// seek continues the search.
func (m *Machine) seek(now protocol.Time, out *protocol.Effects) {
	switch {
	case m.exit != nil && m.exit.out: // it no longer looks for a coordinator
	case m.survey != nil && (now >= m.until || m.survey.Complete()):
		m.judge(now, out)
	case m.survey != nil && now >= m.repeatAt:
		m.repeatAt = protocol.Never
		m.sendPolls(m.survey.Silent(), out)
	case m.ballot != nil:
		ended := m.count(now, out)
		if !ended && now >= m.repeatAt {
			m.repeatAt = protocol.Never
			m.call(m.ballot.Silent(), out)
		}
	case m.forcing != nil && m.survey == nil && m.ballot == nil:
		m.goOnForcing(now, out)
	case m.survey == nil && m.ballot == nil && now >= m.tryAt && m.preempts():
		m.elect(now, m.cell.Accepted, false, out)
		if m.ballot != nil {
			m.ballot.Preempts = true
		}
	case m.survey == nil && m.ballot == nil && now >= m.tryAt && !m.content(now):
		m.beginSurvey(now, out)
	}
}

// beginPhase starts the wait for answers, with a repeated question halfway.
func (m *Machine) beginPhase(now protocol.Time) {
	patience := m.patience()
	if protocol.Mutated("patience below a round trip") {
		patience = m.config.Patience / 512
	}
	m.until, m.repeatAt = now+patience, now+patience/2
}

// addresses lists the addresses of the accepted view's members and of the founders, except this member's.
func (m *Machine) addresses(v *election.View) []string {
	most := len(m.rules.Founders)
	if v != nil {
		most += len(v.Members)
	}
	all := make([]string, 0, most)
	if v != nil {
		for _, member := range v.Members {
			if member.ID != m.self {
				all = append(all, member.Address)
			}
		}
	}
	all = append(all, m.rules.Founders...)
	slices.Sort(all)
	own := m.config.Address
	return slices.DeleteFunc(slices.Compact(all), func(address string) bool { return address == own || address == "" })
}

// isPlace reports whether an address is among those of addresses.
func (m *Machine) isPlace(v *election.View, address string) bool {
	if address == "" || address == m.config.Address {
		return false
	}
	if slices.Contains(m.rules.Founders, address) {
		return true
	}
	if v != nil {
		for i := range v.Members {
			if v.Members[i].Address == address && v.Members[i].ID != m.self {
				return true
			}
		}
	}
	return false
}

// beginSurvey is phase 1: it polls all members for their status.
func (m *Machine) beginSurvey(now protocol.Time, out *protocol.Effects) {
	m.surveys++
	m.objectors = nil
	m.survey = &election.Survey{
		Number: m.surveys, Own: m.answer(now, m.surveys, m.self), Polled: m.addresses(m.cell.Accepted),
	}
	m.trips.begin(now, m.survey)
	m.beginPhase(now)
	m.sendPolls(m.survey.Polled, out)
	if len(m.survey.Polled) == 0 {
		m.judge(now, out)
	}
}

func (m *Machine) sendPolls(addresses []string, out *protocol.Effects) {
	for _, address := range addresses {
		out.SendTo(address, election.StatusPoll{Number: m.survey.Number})
	}
}

// answer returns this member's status for the asking member.
func (m *Machine) answer(now protocol.Time, number uint64, from protocol.ID) election.StatusAnswer {
	a := election.StatusAnswer{
		Number: number, Self: m.config.member(m.self, m.lease.Tenure), Priority: m.config.Priority,
		Status: m.status(), Well: m.well(now, from), View: m.accepted(), Promised: m.bygone(),
		Founders: m.config.Founders, Terms: m.terms, Leaving: m.exit != nil || m.blocked(now), Coordinator: m.leader(),
	}
	if m.leased {
		a.Lease = m.lease.Member - now
	}
	if r := m.reign; r != nil && r.installed && !r.served {
		a.Wait = max(0, r.grantFrom-now)
	}
	if a.Status == election.Halted && (m.ballot != nil || m.candidate != m.self) {
		a.Candidate = m.candidate
	}
	if place, listed := m.cell.Accepted.Of(a.Coordinator); listed {
		a.Address = place.Address
	} else if a.Coordinator == m.self {
		a.Address = m.config.Address
	}
	return a
}

// leader returns the member that this one follows; 0 if none.
func (m *Machine) leader() protocol.ID {
	switch {
	case m.reign != nil:
		return m.self
	case m.followed:
		return m.coordinator
	}
	return 0
}

// status returns this member's state in the terms of the notes.
func (m *Machine) status() election.Status {
	v := m.cell.Accepted
	switch {
	case m.reign != nil && m.reign.installed:
		return election.Normal
	case m.reign != nil:
		return election.Reorganization
	case m.ballot != nil, m.candidate != 0 && (v == nil || v.Epoch != m.cell.promised()):
		return election.Halted
	case m.followed && v.Installed:
		return election.Normal
	case m.followed:
		return election.Reorganization
	}
	return election.Down
}

func (m *Machine) onStatusAnswer(now protocol.Time, a election.StatusAnswer, out *protocol.Effects) {
	m.seen = max(m.seen, a.Promised.Counter)
	m.saw(now, a.Self)
	m.measure(now, a, out)
	if m.config.Founder && a.Self.Founder && (m.objects(a, out) || m.namesake(a, out)) {
		return
	}
	m.adopt(now, a.View, out)
	switch {
	case m.reign != nil:
		m.meet(now, a, out)
	case a.Number == 0 && a.Well && !m.content(now):
		m.join(now, a.Address, out)
	case m.survey != nil:
		m.survey.Take(a)
	}
}

// adopt replaces the accepted view by a newer one that is known to be installed: everything outside the newer one is
// over (V23).
func (m *Machine) adopt(now protocol.Time, v *election.View, out *protocol.Effects) {
	old := m.cell.Accepted
	if v == nil || !v.Installed || m.config.Available && (m.reign != nil || m.content(now)) {
		return // another side's view is as good as this one's
	}
	if !v.Newer(old) || protocol.Mutated("old view next to an installed one") {
		if old != nil {
			m.cell.Accepted = old.Know(v)
		}
		return
	}
	switch {
	case m.isForeign(v):
		m.meetForeign(v, out)
		return
	case m.differs(v.Terms):
		m.meetOtherTerms(v, out)
		return
	case m.countsAlike(v):
		return // the leader of that side raises its epoch first, see merge.go
	}
	if m.reign != nil && v.Epoch == m.reign.epoch {
		return // made by this member itself
	}
	if election.Less(m.cell.promised(), v.Epoch) {
		m.stepDown(now, v.Epoch, out)
	}
	if old == nil || old.Epoch != v.Epoch {
		m.beginEpoch()
	}
	m.cell.Accepted = v
	if !m.config.Founder || v.Rank(m.self) >= 0 || protocol.Mutated("hearsay makes a member of a cluster") {
		m.cell.Cluster = v.Cluster
	}
	m.noteOrder(old, v, out)
	m.remember()
}

// isForeign reports whether a view is of another cluster than the one that a founder has joined. A guest has no vote:
// it follows the founders when they have all forgotten, and have founded another cluster. So does a founder that has
// only heard of a view: a late message may have come from a cluster that is over.
func (m *Machine) isForeign(v *election.View) bool {
	own := m.cell.Joined()
	return m.config.Founder && own != 0 && own != v.Cluster
}

// meetForeign handles a view of another cluster that has an address of this one. A member that has joined since its
// start continues; one that has not cannot.
func (m *Machine) meetForeign(v *election.View, out *protocol.Effects) {
	if !m.publishing {
		m.refuse(foreign(m.cell.Accepted, v), out)
	}
}

func foreign(ours, theirs *election.View) error {
	return fmt.Errorf("membership: this member's cell belongs to cluster %s, the others are cluster %s; give it an empty state folder to start afresh, or the others' addresses",
		strconv.FormatUint(ours.Cluster, 36), strconv.FormatUint(theirs.Cluster, 36))
}

// judge ends phase 1.
func (m *Machine) judge(now protocol.Time, out *protocol.Effects) {
	survey := m.survey
	verdict := survey.Judge(m.rules)
	rank := m.rank(verdict.Newest)
	m.survey = nil
	m.hears, m.applied, m.placesFrom = nil, false, 0
	for _, a := range survey.Answers {
		m.hears = append(m.hears, a.Self.ID)
		if a.Wait > 0 {
			m.placesFrom = max(m.placesFrom, now+a.Wait)
		}
	}
	defers := verdict.Decision == election.Defer && m.deferred < 2
	if m.outvoted(survey, out) {
		return
	}
	switch {
	case m.exit != nil:
		m.leaveBehind(now, survey)
	case verdict.Decision == election.Wait && verdict.Well != nil:
		m.join(now, verdict.Well.Address, out)
		m.applied = true
		m.backOff(now, rank)
	case verdict.Decision == election.Wait, m.dissents() && slices.ContainsFunc(survey.Silent(), m.rules.Founder):
		m.backOff(now, rank)
	case defers:
		m.deferred++
		m.tryAt = now + m.jitter(m.patience()*time.Duration(verdict.Seniors))
	default:
		m.elect(now, verdict.Newest, verdict.Attendance || m.dissents(), out)
		for _, a := range survey.Answers {
			if m.ballot == nil {
				break // no epoch is left
			}
			m.ballot.Active = append(m.ballot.Active, a.Self.ID)
		}
	}
}

// rank staggers candidates: the most senior one retries first.
func (m *Machine) rank(v *election.View) int {
	if rank := v.Rank(m.self); rank >= 0 {
		return rank
	}
	return max(0, slices.Index(m.rules.Founders, m.config.Address))
}

// backOff schedules a retry after T·(1 + rank), with jitter.
func (m *Machine) backOff(now protocol.Time, rank int) {
	m.tryAt = now + m.jitter(m.patience()*time.Duration(1+min(rank, 4)))
}

// jitter returns a random duration from d to 2d.
func (m *Machine) jitter(d time.Duration) time.Duration {
	return d + time.Duration(m.config.Rand.Int64N(int64(d)+1))
}

// elect is phase 2: it asks the members to follow this one.
func (m *Machine) elect(now protocol.Time, v *election.View, attendance bool, out *protocol.Effects) {
	m.canvass(now, &election.Ballot{View: v, Polled: m.addresses(v), Attendance: attendance}, out)
}

// canvass asks for the promises that a ballot needs, under an epoch above all others.
//
// A member that cannot write does not begin: it could not lead without its own promise, and all that give theirs would
// be halted in vain, again and again.
func (m *Machine) canvass(now protocol.Time, ballot *election.Ballot, out *protocol.Effects) {
	if m.blocked(now) && ballot.Forced == nil && !protocol.Mutated("candidate without a disk") {
		m.backOff(now, m.rank(ballot.View))
		return
	}
	// The leader of a side without a place in the newest view cannot know what the members with a place knew.
	forgotten := ballot.Attendance || m.config.Available && ballot.View.Rank(m.self) < 0
	counter := m.above(forgotten, now)
	if ballot.Forced != nil {
		counter = m.aboveLost(now, ballot.View)
	}
	if counter > protocol.MaxEpoch {
		out.Note(OutOfEpochs{})
		m.backOff(now, 0)
		return
	}
	ballot.Epoch = protocol.Epoch{Counter: counter, Candidate: m.self}
	ballot.Sent, ballot.Terms = now, m.terms
	m.survey, m.ballot = nil, ballot
	m.beginPhase(now)
	m.halt(now, m.self, ballot.Epoch, ballot.WithoutQuorum(), out)
	m.call(ballot.Polled, out)
}

func (m *Machine) call(addresses []string, out *protocol.Effects) {
	for _, address := range addresses {
		out.SendTo(address, election.Election{Epoch: m.ballot.Epoch, View: m.ballot.View, Terms: m.ballot.Terms, Merge: m.ballot.Merge, NoQuorum: m.ballot.WithoutQuorum()})
	}
}

// abandon ends this member's search: another member has won or leads.
func (m *Machine) abandon() { m.survey, m.ballot = nil, nil }

func (m *Machine) onPromise(now protocol.Time, p election.Promise) {
	if p.Accepted != nil {
		m.seen = max(m.seen, p.Accepted.Epoch.Counter)
	}
	if m.ballot != nil {
		m.ballot.Take(p, now)
	}
}

// count ends phase 2 once the promises suffice and no more are expected soon, or when the wait is over: then the
// election restarts. It reports whether it did either.
func (m *Machine) count(now protocol.Time, out *protocol.Effects) bool {
	ballot, own := m.ballot, m.ballot.Of(m.self)
	if now < m.until && (own == nil || !ballot.Complete()) {
		return false
	}
	if m.waitsOn(now) {
		return false
	}
	succession := ballot.Count(m.self, m.rules)
	if own != nil && own.Self.Tenure != m.lease.Tenure && !protocol.Mutated("own promise outlives the lease") {
		succession = nil // its lease has ended since its own promise: that promise is void
	}
	switch {
	case succession != nil:
		m.ballot = nil
		m.win(now, ballot, succession, out)
	case now < m.until && ballot.Active != nil:
		return false // members silent in phase 1 may still answer this one
	default:
		m.ballot = nil
		m.backOff(now, m.rank(ballot.View))
		if m.forcing != nil && ballot.Forced != nil {
			m.forcing.missed(ballot)
		}
	}
	return true
}

// onRefuse handles a refusal. In mode any a member that another side leads well stays there: the sides will meet.
func (m *Machine) onRefuse(now protocol.Time, from protocol.ID, r election.Refuse, out *protocol.Effects) {
	m.seen = max(m.seen, r.Promised.Counter)
	m.adopt(now, r.View, out)
	if m.ballot != nil && r.Epoch == m.ballot.Epoch && !(r.Well && r.Promised == m.resigned) {
		m.ballot.Refuse(from) // otherwise it has not heard of the resignation yet, and is asked again
	}
	if f := m.forcing; f != nil && r.Well && m.ballot != nil && r.Epoch == m.ballot.Epoch && !f.view.Newer(r.View) {
		m.endForcing(now, m.someoneIsWell(r), out)
	}
	if place, wanted := m.reign.place(from); wanted && r.Epoch == m.reign.epoch && !(m.config.Available && r.Well) {
		m.raise(now, r.Promised.Counter, place.Address, out)
	}
}

// onHint checks whether a rumour is right. The coordinator's answer, or any poll of it, ends the doubt.
func (m *Machine) onHint(now protocol.Time, hint protocol.Hint) {
	if m.reign != nil {
		m.reign.doubt(hint)
		return
	}
	place, listed := m.cell.Accepted.Of(m.coordinator)
	switch {
	case listed && place.Address == hint.Address && m.followed:
		m.doubted = !hint.Alive
	case hint.Alive && !m.followed && m.survey == nil && m.ballot == nil:
		m.tryAt = min(m.tryAt, now+m.jitter(m.config.poll()))
	}
}
