package membership

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The cost of a lost member is the time that its own clients believe. So the coordinator keeps the pledges of all
// tenures separate, numbers each change of that list, and sends it to all until they have recorded it. A version of a
// pledge is recorded when quorums have recorded it: a member elected later learns of it, or of a newer one, from a
// promise. The pledge of a past tenure stays in the list until its clients no longer believe it.

// pledged is the coordinator's knowledge of a pledge in its list.
type pledged struct {
	id       protocol.ID
	tenure   protocol.Tenure
	since    uint64 // the first list with its version
	recorded uint64 // the newest version that the quorums have recorded
	gone     bool
	until    protocol.Time // for a past tenure: when its clients no longer believe
}

// pledge returns the entry of a tenure's pledge; nil if there is none.
func (r *reign) pledge(id protocol.ID, tenure protocol.Tenure) *pledged {
	i := slices.IndexFunc(r.pledges, func(p pledged) bool { return p.id == id && p.tenure == tenure })
	if i < 0 {
		return nil
	}
	return &r.pledges[i]
}

// relist marks the list as changed.
func (m *Machine) relist() {
	m.listed++
	m.remember()
}

// enter adds a pledge of a tenure that has a place.
func (m *Machine) enter(p election.Pledge) {
	r, before := m.reign, m.cell.Pledges
	if m.cell.Pledges = before.With(p); m.cell.Pledges == before {
		return
	}
	m.relist()
	if r.pledge(p.ID, p.Tenure) == nil {
		r.pledges = append(r.pledges, pledged{id: p.ID, tenure: p.Tenure})
	}
	r.pledge(p.ID, p.Tenure).since = m.listed
	if p.Reach > before.Find(p.ID, p.Tenure).Reach {
		r.nextPoll = 0 // a member is waiting for it
	}
}

// onPledge records the pledge in a member's answer. One of a tenure that the newest proposal drops comes too late: the
// others rely on what they know.
func (m *Machine) onPledge(from protocol.ID, a PollAnswer) {
	if place, listed := m.reign.current().Of(from); listed && place.Tenure == a.Tenure && a.Version > 0 {
		m.enter(election.Pledge{ID: from, Tenure: a.Tenure, Version: a.Version, Reach: a.Pledge})
	}
}

// tendPledges maintains the list.
func (m *Machine) tendPledges(now protocol.Time) {
	m.forgetPledges(now)
	m.raiseTop(now)
	m.most = m.mostHere()
	m.pledge()
	m.record()
}

// record records the versions that the quorums have recorded: those of the installed view and, while a proposal is
// under way, of every view whose quorum it needs, as for the role. A proposal that its coordinator alone has accepted
// is forgotten with that coordinator, and so is everything that only the proposal remembers.
func (m *Machine) record() {
	r := m.reign
	needs := r.electorates()
	if r.proposes() && protocol.Mutated("horizon remembered by a proposal") {
		needs = []election.Electorate{r.proposal.Electorate()}
	}
	r.tracks[m.self].stored = m.stored
	reached, _ := r.reached(needs, func(t *track) (protocol.Time, bool) { return protocol.Time(t.stored), true })
	if protocol.Mutated("the coordinator alone records") {
		reached = protocol.Time(m.stored)
	}
	for i := range r.pledges {
		p := &r.pledges[i]
		version := m.cell.Pledges.Find(p.id, p.tenure).Version
		if p.since > uint64(reached) || p.recorded >= version {
			continue
		}
		p.recorded = version
		if p.id == m.self && p.tenure == m.lease.Tenure {
			m.noteRecorded(version)
		} else if !p.gone {
			r.nextPoll = 0
		}
	}
}

// mostHere returns the longest reach that may be pledged under this coordinator: zero while a voter has no cell,
// because it would be forgotten.
func (m *Machine) mostHere() protocol.Reach {
	switch {
	case m.reign.forgetful():
		return 0
	case m.config.Available:
		return protocol.ReachOf(m.config.MaxHorizon) // only the member itself waits for it
	}
	return m.cell.Pledges.Bounds().Durable
}

// forgetful reports whether a voter has no cell.
func (r *reign) forgetful() bool {
	members := r.current().Members
	for i := range members {
		if members[i].Founder && !members[i].Kept {
			return true
		}
	}
	return false
}

// raiseTop agrees on the maximum of any pledge. It rises to the greatest need of any member, when every founder is
// present to record it; and takes effect when all of them have. It falls again if one of them has not recorded it for a
// lease, because clients are waiting; and rises again when that one has.
func (m *Machine) raiseTop(now protocol.Time) {
	if m.config.Available {
		return
	}
	r, p := m.reign, m.cell.Pledges.Bounds()
	every := r.installed && r.proposal == nil && !r.forgetful() && r.view.VoterCount() >= len(m.rules.Founders)
	want := min(r.wanted(m.self, protocol.ReachOf(m.need.Want)).Doubled(), protocol.ReachOf(m.config.MaxHorizon))
	written := every && r.topWritten()
	switch {
	case !every && p.Top > p.Durable:
		p.Top, r.topUntil = p.Durable, 0
	case written && p.Top > p.Durable:
		p.Durable, r.topUntil = p.Top, 0
	case every && want > p.Top && (now < r.topUntil || r.topUntil == 0 || written):
		p.Top, r.topSince, r.topUntil = want, m.listed+1, now+m.config.Lease
		if m.config.alone() {
			p.Durable, r.topUntil = want, 0 // pledges are in the same write, and are promised after it
		}
	case p.Top > p.Durable && r.topUntil > 0 && now >= r.topUntil:
		p.Top = p.Durable // until the founder that lacks it has recorded it
	default:
		return
	}
	next := m.cell.Pledges.Copy()
	next.Limits = p
	m.cell.Pledges = next
	m.relist()
	r.nextPoll = 0
}

// topWritten reports whether all founders of the view have recorded the maximum of any pledge.
func (r *reign) topWritten() bool {
	for i := range r.view.Members {
		if m := &r.view.Members[i]; m.Founder && r.tracks[m.ID].stored < r.topSince {
			return false
		}
	}
	return true
}

// wanted returns the longest reach that a member of the view wants.
func (r *reign) wanted(self protocol.ID, own protocol.Reach) protocol.Reach {
	for i := range r.view.Members {
		id := r.view.Members[i].ID
		if t := r.tracks[id]; t != nil && id != self {
			own = max(own, t.wants)
		}
	}
	return own
}

// forgetPledges removes pledges that clients no longer believe.
func (m *Machine) forgetPledges(now protocol.Time) {
	r := m.reign
	over := func(p pledged) bool { return p.gone && now >= p.until }
	if !r.installed || !slices.ContainsFunc(r.pledges, over) {
		return
	}
	all := m.cell.Pledges.Copy()
	all.Of = slices.DeleteFunc(all.Of, func(q election.Pledge) bool { return over(*r.pledge(q.ID, q.Tenure)) })
	r.pledges = slices.DeleteFunc(r.pledges, over)
	m.cell.Pledges = all
	m.relist()
}

// depart keeps the pledge of a tenure that is in no view any more until a time.
func (r *reign) depart(id protocol.ID, tenure protocol.Tenure, until protocol.Time) {
	if p := r.pledge(id, tenure); p != nil {
		p.gone, p.until = true, until
	}
}

// reachOf returns how far beyond its lease the clients of a tenure may believe.
func (m *Machine) reachOf(id protocol.ID, tenure protocol.Tenure) protocol.Reach {
	if protocol.Mutated("one horizon for all") {
		return m.cell.Pledges.Longest()
	}
	return m.cell.Pledges.Find(id, tenure).Reach
}
