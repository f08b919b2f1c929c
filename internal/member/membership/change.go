package membership

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// change updates the view: one change at a time, and only while the coordinator serves.
func (m *Machine) change(now protocol.Time, out *protocol.Effects) {
	r := m.reign
	if m.exit != nil && !m.alone() {
		m.resign(now, out)
		return
	}
	if m.hinders(now) {
		m.abdicate(now, out)
		return
	}
	m.openView(now)
	if !r.served {
		r.served = m.serves(now)
	}
	if !r.served {
		m.startAgain(now, out)
		return
	}
	if r.proposal == nil {
		m.resolvePartitions(now, out)
		if m.blocked(now) {
			return // a proposal could not be written
		}
		if next := m.next(now); next != nil {
			m.propose(now, next, out)
		}
	}
}

// hinders reports whether this coordinator blocks its members, because its disk accepts no writes: no member can join,
// and no member's names become free. A first view that lacks only this member's acceptance is given up after S, as soon
// as one other founder has accepted it: no lease could be lost, and the others may need a member that is not in it.
func (m *Machine) hinders(now protocol.Time) bool {
	r := m.reign
	switch {
	case protocol.Mutated("coordinator without a disk"):
		return false
	case r.installed:
		return m.isReplaceable(now)
	case r.attendance || r.track(m.self, now).acked >= r.proposal.Number || !m.blocked(now):
		r.hindered = 0
		return false
	}
	successor := func(member election.Member) bool {
		t := r.tracks[member.ID]
		return member.ID != m.self && member.Founder && t != nil && t.acked >= r.proposal.Number
	}
	if !slices.ContainsFunc(r.proposal.Members, successor) {
		r.hindered = 0
		return false
	}
	if r.hindered == 0 {
		r.hindered = now
	}
	return now >= r.hindered+m.config.silence()
}

// isReplaceable reports whether this coordinator's disk has accepted no write for a lease, and the members that would
// elect another one are heard and can write. Each proves that by writing a renumbered list of pledges: disks often fill
// up all at once, and a coordinator that cannot change its view is better than none. In mode any one such member is
// enough.
func (m *Machine) isReplaceable(now protocol.Time) bool {
	r := m.reign
	switch {
	case !m.unsaved(now):
		r.trial = 0
		return false
	case r.trial == 0:
		m.relist()
		r.trial, r.nextPoll = m.listed, now
		return false
	}
	able := func(id protocol.ID) bool {
		t := r.tracks[id]
		return id != m.self && t != nil && !t.leaving && t.stored >= r.trial && now < t.heard+m.config.silence()
	}
	if m.config.Available {
		return slices.ContainsFunc(r.view.Electorate().Voters, able)
	}
	return r.view.Electorate().Quorum(able) && election.Quorums(r.electorates(), able)
}

// abdicate gives up the role, so that the members elect another coordinator at once.
func (m *Machine) abdicate(now protocol.Time, out *protocol.Effects) {
	for _, member := range m.reign.members() {
		if member.ID != m.self {
			out.Send(member.ID, Resign{Epoch: m.reign.epoch})
		}
	}
	out.Note(Abdicated{Err: m.failed})
	m.cease(now, out)
}

// Abdicated notes that a coordinator has given up its role, because its cell could not be written. Err is nil if the
// disk does not answer.
type Abdicated struct{ Err error }

// Why returns the reason as a sentence.
func (n Abdicated) Why() string { return whyUnsaved(n.Err) }

func (n Abdicated) String() string {
	return "coordinating no more, because the stable cell cannot be written: " + n.Why()
}

// serves reports whether the authority may grant: the view is installed, every member
// has reported, and the waits are over.
func (m *Machine) serves(now protocol.Time) bool {
	r := m.reign
	if !r.installed || now < r.grantFrom {
		return false
	}
	for _, member := range r.view.Members {
		t := r.track(member.ID, now)
		if member.ID == m.self && !m.reported() || member.ID != m.self && (!t.reported || t.tenure != member.Tenure) {
			return false
		}
	}
	return true
}

// startAgain restarts the election if its answers are void: a member that was to follow has lapsed, restarted or fallen
// silent before the authority served.
//
// If a member is silent, phase 1 has to find out first. If all are heard, phase 1 could learn nothing new, and phase 2
// begins at once: it renews every lease a round trip later. A search would take two more round trips, and if a round
// trip takes a fifth of the lease, the leases of others end meanwhile. Each of these voids the next election, and so on
// forever.
func (m *Machine) startAgain(now protocol.Time, out *protocol.Effects) {
	silent := m.loses(func(_ election.Member, t *track) bool { return now >= t.heard+m.patienceWith(t) }, now)
	lapsed := m.loses(func(member election.Member, t *track) bool { return t.tenure != member.Tenure }, now)
	if !silent && !lapsed {
		return
	}
	attendance := m.reign.attendance || m.dissents()
	m.cease(now, out)
	if !silent && m.forcing == nil && !protocol.Mutated("a void election starts again at once") {
		m.elect(now, m.cell.Accepted, attendance, out)
	}
}

// loses reports whether a condition holds for another member of the view that this coordinator leads.
func (m *Machine) loses(is func(election.Member, *track) bool, now protocol.Time) bool {
	return slices.ContainsFunc(m.reign.current().Members, func(member election.Member) bool {
		return member.ID != m.self && is(member, m.reign.track(member.ID, now))
	})
}

// next returns the view as it should be, or nil if it already is.
func (m *Machine) next(now protocol.Time) *election.View {
	r := m.reign
	if len(r.joins) == 0 && !slices.ContainsFunc(r.view.Members, func(member election.Member) bool {
		place, stays := m.placeOf(now, member)
		return !stays || place != member
	}) {
		return nil // the common case: allocates nothing
	}
	next := &election.View{
		Cluster: r.view.Cluster, Number: r.view.Number + 1, Epoch: r.epoch, Terms: m.terms, Base: r.view.BaseOfNext(), Order: r.view.Order,
	}
	changed := false
	live := map[protocol.ID]bool{}
	for _, member := range r.view.Members {
		place, stays := m.placeOf(now, member)
		live[member.ID] = stays || r.track(member.ID, now).leaving || slices.Contains(r.outcasts, member.ID)
		if stays {
			next.Members = append(next.Members, place)
		}
		changed = changed || !stays || place != member
	}
	changed = m.admit(next) || changed
	next.Date(r.view)
	alive := func(id protocol.ID) bool { return live[id] }
	if !changed || !m.config.Available && !r.view.Electorate().Quorum(alive) {
		return nil // or without a quorum to agree: perhaps they come back in time
	}
	return next
}

// placeOf returns a member's place in the next view, if it has one.
func (m *Machine) placeOf(now protocol.Time, member election.Member) (place election.Member, stays bool) {
	r := m.reign
	if member.ID == m.self {
		return member, true
	}
	t := r.track(member.ID, now)
	if t.leaving || now >= t.heard+m.patienceWith(t) || slices.Contains(r.outcasts, member.ID) {
		return member, false
	}
	if i := r.joining(member.ID); i >= 0 && member.Tenure.Before(r.joins[i].Tenure) {
		founder := member.Founder
		member = r.joins[i]
		member.Founder = founder
	}
	if member.Tenure.Before(t.tenure) {
		member.Tenure = t.tenure
	}
	return member, true
}

func (r *reign) joining(id protocol.ID) int {
	return slices.IndexFunc(r.joins, func(j election.Member) bool { return j.ID == id })
}

// admit adds the most junior members that ask for a place: fewer voters at once than half of the new view's, or one
// next to a single one. A proposal that newcomers abandon must not take the quorum with it. It reports whether it added
// any.
func (m *Machine) admit(next *election.View) bool {
	r := m.reign
	old, admitted, changed := next.VoterCount(), 0, false
	for _, j := range r.joins {
		taken := func(p election.Member) bool {
			return p.ID == j.ID || p.Name == j.Name || p.Address == j.Address && j.Address != ""
		}
		if slices.ContainsFunc(next.Members, taken) {
			continue
		}
		j.Founder = j.Founder && m.rules.Founder(j.Address)
		if j.Founder && 2*(admitted+1) >= old+admitted+1 && (old != 1 || admitted > 0) {
			continue
		}
		if j.Founder {
			admitted++
		}
		next.Members = append(next.Members, j)
		changed = true
	}
	r.joins = nil // the remaining ones ask again
	return changed
}

// propose starts a change of the view.
func (m *Machine) propose(now protocol.Time, next *election.View, out *protocol.Effects) {
	r := m.reign
	r.proposal, r.written = next, false
	r.needs = []election.Electorate{r.view.Electorate(), next.Electorate()}
	if protocol.Mutated("quorum of the new view alone") {
		r.needs = r.needs[1:]
	}
	for _, member := range next.Members {
		if t := r.track(member.ID, now); t.tenure.Before(member.Tenure) {
			t.renewed(now, member.Tenure)
		}
	}
	m.accept(now, next, out)
	if m.acceptOwn(now); r.proposes() {
		r.nextPoll = now
	}
}

// join asks the coordinator for a place. A member that cannot write could not accept the view with that place, and
// would lose it again.
func (m *Machine) join(now protocol.Time, address string, out *protocol.Effects) {
	if address == "" || address == m.config.Address || m.exit != nil || m.blocked(now) {
		return
	}
	j := Join{
		Self: m.config.member(m.self, m.lease.Tenure), Version: ProtocolVersion, Promised: m.cell.promised(),
		Lease: m.config.Lease, Drift: m.config.Drift, Definitions: m.config.Definitions, Founders: m.config.Founders,
		Hears: m.hears, Cluster: m.cell.Joined(),
	}
	m.mustHear = ""
	out.SendTo(address, j)
}

// onJoin considers a place for the asking member. There is no reorganization: grants continue.
func (m *Machine) onJoin(now protocol.Time, from protocol.ID, j Join, out *protocol.Effects) {
	r := m.reign
	m.seen = max(m.seen, j.Promised.Counter)
	if r == nil {
		out.Send(from, m.answer(now, 0, from))
		return
	}
	if refused := m.disagree(now, j); refused != nil {
		out.Send(from, *refused)
		return
	}
	if r.wasDropped(from, j.Self.Tenure) {
		out.Send(from, Dropped{Epoch: r.epoch, Tenure: j.Self.Tenure})
		return
	}
	if j.Promised.Counter > r.epoch.Counter || j.Promised.Counter == r.epoch.Counter && j.Promised != r.epoch {
		m.raise(now, j.Promised.Counter, j.Self.Address, out)
		return
	}
	if place, listed := r.view.Of(from); listed && !place.Tenure.Before(j.Self.Tenure) {
		return
	}
	if name, is := r.stillExcluded(&j); is {
		out.Send(from, JoinDeferred{Tenure: j.Self.Tenure, Unheard: name})
		return
	}
	if t := r.tracks[from]; t != nil {
		t.heard = now
	}
	if i := r.joining(from); i < 0 && len(r.joins) < maxJoins {
		r.joins = append(r.joins, j.Self)
	} else if i >= 0 && r.joins[i].Tenure.Before(j.Self.Tenure) {
		r.joins[i] = j.Self
	}
}

// maxJoins bounds how many members may wait for a place; one beyond that asks again.
const maxJoins = 1000

// disagree returns the reason why the member cannot be admitted, with both values.
func (m *Machine) disagree(now protocol.Time, j Join) *Unwelcome {
	mismatch := func(what, ours, yours string) *Unwelcome {
		return &Unwelcome{Tenure: j.Self.Tenure, What: what, Ours: ours, Yours: yours}
	}
	c := &m.config
	switch {
	case j.Version != ProtocolVersion:
		return mismatch("the version of the members' protocol", strconv.Itoa(ProtocolVersion), strconv.Itoa(int(j.Version)))
	case j.Lease != c.Lease:
		return mismatch("the lease", c.Lease.String(), j.Lease.String())
	case j.Drift != c.Drift:
		return mismatch("the drift", fmt.Sprint(c.Drift), fmt.Sprint(j.Drift))
	case !slices.Equal(j.Definitions, c.Definitions):
		ours, yours := firstDifference(c.Definitions, j.Definitions)
		return mismatch("the definition of a space", ours, yours)
	case j.Self.Founder && !slices.Equal(j.Founders, c.Founders) && len(c.Founders) > 0:
		return mismatch("the list of founders", fmt.Sprint(c.Founders), fmt.Sprint(j.Founders))
	case j.Self.Founder && j.Cluster != 0 && j.Cluster != m.reign.view.Cluster:
		return mismatch("the cluster", strconv.FormatUint(m.reign.view.Cluster, 36), strconv.FormatUint(j.Cluster, 36))
	}
	for _, place := range m.reign.view.Members {
		taken := place.Name == j.Self.Name && place.ID != j.Self.ID && place.Address != j.Self.Address
		if taken && m.outlives(now, place, j.Self) {
			return mismatch("the address of member "+j.Self.Name, place.Address, j.Self.Address)
		}
	}
	return nil
}

// rival is a tenure that asks for a place under a name that another member has.
type rival struct {
	id     protocol.ID
	tenure protocol.Tenure
	since  protocol.Time
}

// outlives reports whether a member is known to be alive after a rival has asked for its name: it has answered a later
// poll. Until then the rival gets no answer, and asks again; if the member is dead, its place is soon free.
func (m *Machine) outlives(now protocol.Time, member, j election.Member) bool {
	r := m.reign
	r.rivals = slices.DeleteFunc(r.rivals, func(o rival) bool { return now >= o.since+m.config.Lease })
	t := r.track(member.ID, now)
	for _, o := range r.rivals {
		if o.id == j.ID && o.tenure == j.Tenure {
			return member.ID == m.self || t.replied && t.answered >= o.since
		}
	}
	if len(r.rivals) < maxJoins {
		r.rivals = append(r.rivals, rival{j.ID, j.Tenure, now})
	}
	return member.ID == m.self
}

// firstDifference returns the first differing lines of two sorted lists.
func firstDifference(ours, yours []string) (string, string) {
	for i := range max(len(ours), len(yours)) {
		var o, y string
		if i < len(ours) {
			o = ours[i]
		}
		if i < len(yours) {
			y = yours[i]
		}
		if o != y {
			return o, y
		}
	}
	return "", ""
}

// onUnwelcome handles a refusal: this member cannot join that cluster.
func (m *Machine) onUnwelcome(u Unwelcome, out *protocol.Effects) {
	if m.reign != nil || u.Tenure != m.lease.Tenure {
		return
	}
	m.refuse(fmt.Errorf("membership: the cluster refuses this member: %s is %q there and %q here; give both the same", u.What, u.Ours, u.Yours), out)
}

// onDropped ends the tenure, regardless of the time left on its lease. If another epoch was promised meanwhile, the
// lease runs out by itself. A tenure without a lease has nothing to run out, and ends regardless of the sender: no
// member would admit it again.
func (m *Machine) onDropped(now protocol.Time, d Dropped, out *protocol.Effects) {
	m.seen = max(m.seen, d.Epoch.Counter)
	if m.reign != nil || d.Tenure != m.lease.Tenure || m.leased && !m.follows(d.Epoch) {
		return
	}
	m.lapse(now, out)
	m.followed = false
	m.tryAt = min(m.tryAt, now+m.config.poll())
	if m.exit != nil {
		m.exit.out = true
	}
}
