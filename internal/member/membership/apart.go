package membership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Members that do not hear each other, though their coordinator hears both.
//
// Polls go between the coordinator and each member, so the view says nothing of the links between
// the others. Most protocols need none of them. Where every member needs an answer of every other
// one, two that do not hear each other are in each other's way for as long as that lasts, and any
// client that waits for one of them waits as well. A machine above says so at the one that waits
// (protocol.Unheard), its answers to polls tell the coordinator (PollAnswer.Unheard), and a pair
// that has stood for D costs one of the two its place: the one that is a party to most such pairs;
// of several a guest before a founder, and the most junior. More than half of all founders stay,
// or no member goes: a view that none could succeed is worse than names that no client gets.
//
// It is dropped as one that is lost: its lease is waited for. It asks for a place again, and gets it
// when it has heard all the members that it was cut off from (Join.Hears): each answers its STATUS_POLL.
// A coordinator that was just elected does not know of earlier ones' pairs, and finds out anew.

// apart is two members of which one does not hear the other, mostly.
type apart struct {
	says, of protocol.ID
	since    protocol.Time
}

// exclusion is a member that has lost its place, and one that it must have heard to get another.
type exclusion struct{ id, from protocol.ID }

// onUnheard takes the members that a space at this member does not hear.
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

// resolvePartitions looks at which members do not hear which, and chooses those that have to go for it.
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
				continue // this member hears those that it polls, and the others are out already
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

// outcast chooses who has to go, so that of no two that have not heard each other for D both
// stay.
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

// spares reports whether another founder can go besides those that have to: more than half of all
// founders stay.
func (m *Machine) spares(out []protocol.ID) bool {
	staying := 0
	for _, member := range m.reign.view.Members {
		if member.Founder && !slices.Contains(out, member.ID) {
			staying++
		}
	}
	return 2*(staying-1) > len(m.rules.Founders)
}

// cutOffFrom lists the members that one has not heard for a time, or that have not heard it.
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

// noteExclusions notes which members those must have heard that have lost their places with the
// present view.
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
	// A member without a cell comes back as another, and its former self never: the oldest are
	// forgotten, and a member that comes back nevertheless is found out anew.
	r.exclusions = r.exclusions[max(0, len(r.exclusions)-maxExclusions):]
	r.outcasts = nil
}

// maxExclusions is how many exclusions a coordinator remembers.
const maxExclusions = 1000

// stillExcluded returns a member of the view that a newcomer was cut off from and has not heard
// since; where there is none the newcomer is excluded no more.
func (r *reign) stillExcluded(j *Join) (name string, is bool) {
	for _, at := range r.exclusions {
		if at.id == j.Self.ID && r.view.Rank(at.from) >= 0 && !slices.Contains(j.Hears, at.from) {
			return r.nameOf(at.from), true
		}
	}
	r.exclusions = slices.DeleteFunc(r.exclusions, func(at exclusion) bool { return at.id == j.Self.ID })
	return "", false
}

// onJoinDeferred: this member gets no place before it has heard another one.
func (m *Machine) onJoinDeferred(p JoinDeferred) {
	if m.reign == nil && p.Tenure == m.lease.Tenure {
		m.mustHear = p.Unheard
	}
}

// nameOf is the name of a member of the view.
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

// Partitioned notes that a member loses its place, because it and some others do not hear each
// other, and a space needs that they do.
type Partitioned struct {
	Member string
	From   []string
}

func (n Partitioned) String() string {
	return fmt.Sprintf("member %s leaves the view, because it and %s do not hear each other: mend their link", n.Member, strings.Join(n.From, ", "))
}
