package membership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Members that do not hear each other, although their coordinator hears both.
//
// Polls go between the coordinator and each member, so they do not test the links between the others. Most protocols
// need none of those links. In a protocol that needs an answer of every member, two members that do not hear each other
// block each other, and any client that waits for one of them, for as long as the fault lasts. A machine above reports
// this at the member that waits (protocol.Unheard), and the member's poll answers report it to the coordinator
// (PollAnswer.Unheard). When a pair has persisted for D, one of the two loses its place: the one in most such pairs; if
// tied, a guest before a founder, and the most junior. More than half of all founders stay, or no member is removed: a
// view without a possible successor is worse than names that no client gets.
//
// The removed member is dropped like a lost one, and its lease is waited out. It asks for a place again, and gets it
// when it has heard all the members that it was cut off from (Join.Hears): each answers its STATUS_POLL. A newly
// elected coordinator does not know the pairs of earlier ones, and detects them again.

// apart is a pair of members of which at least one does not hear the other.
type apart struct {
	says, of protocol.ID
	since    protocol.Time
}

// exclusion is a member that has lost its place, and another that it must hear to regain one.
type exclusion struct{ id, from protocol.ID }

// onUnheard records the members that a space at this member does not hear.
func (m *Machine) onUnheard(port protocol.Port, fact *protocol.Unheard) {
	if len(fact.IDs) == 0 {
		delete(m.unheard, port)
		return
	}
	if m.unheard == nil {
		m.unheard = map[protocol.Port][]protocol.ID{}
	}
	m.unheard[port] = fact.IDs
}

// notHeard lists the members that any space at this member does not hear.
func (m *Machine) notHeard() (ids []protocol.ID) {
	//tidy:unordered they are put in order
	for _, some := range m.unheard {
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// resolvePartitions collects the pairs of members that do not hear each other, and chooses the members to remove.
func (m *Machine) resolvePartitions(now protocol.Time, out *protocol.Effects) {
	r := m.reign
	before := r.apart
	r.apart = nil
	for _, member := range r.view.Members {
		t := r.track(member.ID, now)
		if member.ID == m.self || t.tenure != member.Tenure {
			continue
		}
		for _, of := range t.unheard {
			if of == m.self || r.view.Rank(of) < 0 {
				continue // this member hears those that it polls, and the others are already out
			}
			pair := apart{member.ID, of, now}
			if i := slices.IndexFunc(before, func(a apart) bool { return a.says == pair.says && a.of == pair.of }); i >= 0 {
				pair.since = before[i].since
			}
			r.apart = append(r.apart, pair)
		}
	}
	chosen := r.outcasts
	r.outcasts = m.outcast(now)
	for _, id := range r.outcasts {
		if !slices.Contains(chosen, id) {
			out.Note(Partitioned{Member: r.nameOf(id), From: r.namesOf(r.cutOffFrom(now, m.config.Lease, id))})
		}
	}
}

// outcast chooses members to remove, so that of no pair that has persisted for D both stay.
func (m *Machine) outcast(now protocol.Time) (out []protocol.ID) {
	r := m.reign
	for len(r.apart) > 0 && !protocol.Mutated("members stay that do not hear each other") {
		var worst election.Member
		most := 0
		for _, member := range r.view.Members { // the most junior comes last
			n := 0
			for _, id := range r.cutOffFrom(now, m.config.Lease, member.ID) {
				if !slices.Contains(out, id) {
					n++
				}
			}
			switch {
			case n == 0, slices.Contains(out, member.ID), member.Founder && !m.spares(out):
			case n > most, n == most && (worst.Founder || !member.Founder):
				worst, most = member, n
			}
		}
		if most == 0 {
			return out
		}
		out = append(out, worst.ID)
	}
	return out
}

// spares reports whether another founder can be removed besides those already chosen: more than half of all founders
// stay.
func (m *Machine) spares(out []protocol.ID) bool {
	staying := 0
	for _, member := range m.reign.view.Members {
		if member.Founder && !slices.Contains(out, member.ID) {
			staying++
		}
	}
	return 2*(staying-1) > len(m.rules.Founders)
}

// cutOffFrom lists the members that a member has not heard for some time, or that have not heard it.
func (r *reign) cutOffFrom(now, lease protocol.Time, id protocol.ID) (from []protocol.ID) {
	for _, pair := range r.apart {
		switch {
		case now < pair.since+lease:
		case pair.says == id && !slices.Contains(from, pair.of):
			from = append(from, pair.of)
		case pair.of == id && !slices.Contains(from, pair.says):
			from = append(from, pair.says)
		}
	}
	return from
}

// noteExclusions records which members the removed ones must hear, now that the present view has dropped them.
func (m *Machine) noteExclusions(now protocol.Time) {
	r := m.reign
	for _, id := range r.outcasts {
		if r.view.Rank(id) >= 0 {
			continue // chosen after this change had begun
		}
		for _, from := range r.cutOffFrom(now, m.config.Lease, id) {
			if at := (exclusion{id, from}); !slices.Contains(r.exclusions, at) {
				r.exclusions = append(r.exclusions, at)
			}
		}
	}
	// A member without a cell comes back under another id, and its former id never: the oldest are forgotten, and one
	// that returns anyway is detected again.
	r.exclusions = r.exclusions[max(0, len(r.exclusions)-maxExclusions):]
	r.outcasts = nil
}

// maxExclusions is the maximum number of exclusions that a coordinator remembers.
const maxExclusions = 1000

// stillExcluded returns a member of the view that a newcomer was cut off from and has not heard since; if there is
// none, the newcomer is no longer excluded.
func (r *reign) stillExcluded(j *Join) (name string, is bool) {
	for _, at := range r.exclusions {
		if at.id == j.Self.ID && r.view.Rank(at.from) >= 0 && !slices.Contains(j.Hears, at.from) {
			return r.nameOf(at.from), true
		}
	}
	r.exclusions = slices.DeleteFunc(r.exclusions, func(at exclusion) bool { return at.id == j.Self.ID })
	return "", false
}

// onJoinDeferred handles a deferred join: this member gets no place until it has heard another one.
func (m *Machine) onJoinDeferred(p JoinDeferred) {
	if m.reign == nil && p.Tenure == m.lease.Tenure {
		m.mustHear = p.Unheard
	}
}

// nameOf returns the name of a member of the view.
func (r *reign) nameOf(id protocol.ID) string {
	place, _ := r.view.Of(id)
	return place.Name
}

func (r *reign) namesOf(ids []protocol.ID) (names []string) {
	for _, id := range ids {
		names = append(names, r.nameOf(id))
	}
	return names
}

// Partitioned notes that a member loses its place, because it and some others do not hear each other, and a space needs
// them to.
type Partitioned struct {
	Member string
	From   []string
}

func (n Partitioned) String() string {
	return fmt.Sprintf("member %s leaves the view, because it and %s do not hear each other: mend their link", n.Member, strings.Join(n.From, ", "))
}
