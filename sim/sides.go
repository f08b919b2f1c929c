package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In partition mode any every side of a partition continues, and no member is waited for: the holds of a lost member
// may be granted at once, while its clients still believe (docs/design/membership.md §8). So the promises hold within a
// side (docs/design/promises.md §3), which the judge must define. A side is an authority's reign and the tenures in its
// view that follow it. Of two grants
//
//   - of one reign, by tenures that are still together in it: all promises hold;
//   - of two reigns, if the first view of the later one has the holder of the earlier one and joins no sides: its
//     authority knew of that grant, and all promises hold as well;
//   - of sides that were apart: both may be held until the sides have met. Then one of the holders learns of its loss,
//     or its tenure ends; until it has stopped, the name is taken.
//
// Tokens rise within a reign, and across the successive reigns that a member follows.
type sides struct {
	world *world
	first map[protocol.Epoch]*protocol.View // the first view of each reign, as its authority raised it
	since map[pairing]instant               // since when two conflicting holders have been on one side
}

// origin is the source of a grant.
type origin struct {
	reign  protocol.Epoch  // of the authority; zero if it ended before the grant was reported
	tenure protocol.Tenure // of the member whose session holds
}

// pairing is a pair of grants of one name.
type pairing struct {
	name string
	a, b requestKey
}

func newSides(w *world) *sides {
	return &sides{world: w, first: map[protocol.Epoch]*protocol.View{}, since: map[pairing]instant{}}
}

// viewed records a view that a member raises.
func (s *sides) viewed(m *process, v *protocol.View) {
	if v.Coordinator != m.id || s.first[v.Epoch] != nil {
		return
	}
	first := *v
	first.Lease = nil // it is a part of the machine, and would keep all of that in memory
	s.first[v.Epoch] = &first
	if v.Merged {
		s.world.hit(Any)
		s.world.trace("sides have met: %s leads %s", m, s.world.listed(v))
	}
}

// forget drops reigns that are over: no member follows them any more.
func (s *sides) forget(j *judge) {
	over := func(reign protocol.Epoch) bool { return s.authority(reign) == nil }
	//tidy:unordered each is dropped or kept on its own
	maps.DeleteFunc(s.first, func(reign protocol.Epoch, _ *protocol.View) bool { return over(reign) })
	//tidy:unordered each name has separate reigns
	for _, r := range j.names {
		//tidy:unordered each is dropped or kept on its own
		maps.DeleteFunc(r.reigns, func(reign protocol.Epoch, _ *[3]issued) bool { return over(reign) })
		r.through = slices.DeleteFunc(r.through, func(t passage) bool {
			m := s.world.network.of[protocol.ID(t.member)]
			return m == nil || uint64(m.id) != t.member
		})
	}
}

// origin returns the origin of a grant that a session's member reports now.
func (s *sides) origin(session lock.SessionID, reign uint64) (o origin) {
	m := s.of(session)
	if m == nil {
		return o
	}
	o.tenure = m.view.Lease.Tenure
	if m.view.Epoch.Counter == reign {
		o.reign = m.view.Epoch
	}
	return o
}

// of returns the member of a session if it is up and follows a view.
func (s *sides) of(session lock.SessionID) *process {
	if m := s.world.network.of[protocol.ID(session.Member)]; m != nil && m.up && m.view != nil && uint64(m.id) == session.Member {
		return m
	}
	return nil
}

// authority is the present leader of a reign, or nil.
func (s *sides) authority(reign protocol.Epoch) *process {
	if m := s.world.network.of[reign.Candidate]; m != nil && m.up && m.view != nil && m.view.Epoch == reign && m.id == reign.Candidate {
		return m
	}
	return nil
}

// follows reports whether the holder of a grant is on the side of a reign now, to its knowledge and the authority's.
func (s *sides) follows(g *grant, reign protocol.Epoch) bool {
	m, leader := s.of(g.session), s.authority(reign)
	if m == nil || leader == nil || m.view.Epoch != reign || m.view.Lease.Tenure != g.origin.tenure {
		return false
	}
	at, listed := leader.view.Of(m.id)
	return listed && at.Tenure == g.origin.tenure
}

// reached reports whether a session is on the side that gave a grant.
func (s *sides) reached(from lock.SessionID, g *grant) bool {
	m := s.of(from)
	return m != nil && m.view.Epoch == g.origin.reign
}

// apart reports whether two conflicting grants may both be believed for a while, because they were given on different
// sides. The later of them is g.
func (s *sides) apart(h, g *grant) bool {
	reign := g.origin.reign
	if !s.follows(h, reign) || !s.follows(g, reign) {
		return true
	}
	if h.origin.reign == reign {
		return false
	}
	first := s.first[reign]
	if first == nil || first.Merged {
		return true
	}
	at, listed := first.Of(protocol.ID(h.session.Member))
	return !listed || at.Tenure != h.origin.tenure
}

// watch checks periodically for conflicting holders whose sides met long ago.
func (s *sides) watch() {
	w := s.world
	s.look()
	w.do(w.now+250*time.Millisecond, s.watch)
}

// The time by which sides that have met must have ended one of two grants: while messages are lost and delayed, and
// otherwise, if both can be reached.
const (
	notifyLate = 8 * 3 * time.Second
	notifySoon = 5 * time.Second
)

func (s *sides) look() {
	w := s.world
	found := map[pairing]instant{}
	for _, n := range w.settings.names {
		r := w.judge.record(n.name)
		r.prune(w.now)
		for i := range r.holders {
			g := &r.holders[i]
			m := s.of(g.session)
			if m == nil || !s.follows(g, m.view.Epoch) {
				continue
			}
			side := r.only(func(o *grant) bool { return s.follows(o, m.view.Epoch) })
			for j := range r.holders[:i] {
				if h := &r.holders[j]; s.follows(h, m.view.Epoch) && !g.same(h) && !side.fits(g, h) {
					s.meet(found, h, g)
				}
			}
		}
	}
	s.since = found
}

// meet records two conflicting grants of one side.
func (s *sides) meet(found map[pairing]instant, h, g *grant) {
	w := s.world
	key := pairing{g.name, requestKey{h.session, h.request}, requestKey{g.session, g.request}}
	since, before := s.since[key]
	if !before {
		since = w.now
		w.trace("%v; and %v: their sides have met", h, g)
	}
	found[key] = since
	soon := w.healed && !h.isAway() && !g.isAway()
	if w.now-since > notifyLate || soon && w.now-max(since, w.healedAt) > notifySoon {
		w.judge.violate("P3", "%v; and %v: both have been on one side since %v, and neither was notified", h, g, since)
	}
}

// isAway reports whether the holder of a grant hears nothing, because its client stays away when a core is healed: only
// its clock ends its belief.
func (g *grant) isAway() bool {
	r, of := g.holder.(*request)
	return of && r.client.stuck
}

// rises checks P2 for a grant that is reported now: within its reign, and among those that its member has reported.
func (s *sides) rises(j *judge, r *record, g *grant) {
	if !s.follows(g, g.origin.reign) {
		return
	}
	if r.reigns == nil {
		r.reigns = map[protocol.Epoch]*[3]issued{}
	}
	highest := r.reigns[g.origin.reign]
	if highest == nil {
		highest = &[3]issued{}
		r.reigns[g.origin.reign] = highest
	}
	j.above(highest, g)
	for i := range r.holders {
		if h := &r.holders[i]; h.token == g.token && h.origin.reign == g.origin.reign && !h.same(g) {
			j.violate("P2", "%v; and %v, under one token", h, g)
		}
	}
	if g.token > highest[g.mode].token {
		highest[g.mode] = issued{g.token, g.session}
	}
}

// succeeds checks P2 for a new exclusive grant that a member reports: the member follows one authority after another,
// and the tokens that it hears of rise from each to the next.
func (s *sides) succeeds(j *judge, r *record, g *grant) {
	i := slices.IndexFunc(r.through, func(t passage) bool { return t.member == g.session.Member })
	if i < 0 {
		r.through = append(r.through, passage{member: g.session.Member})
		i = len(r.through) - 1
	}
	if g.token < r.through[i].token {
		j.violate("P2", "%v, after its member has reported token %d", g, r.through[i].token)
	}
	r.through[i].token = g.token
}

// forgets is called when a member begins a life that may know less than the one before, because its disk lost a write.
// In partition mode any it may then be a separate side, and does not follow the members that it has forgotten: tokens
// rise only within a side.
func (j *judge) forgets(member uint64) {
	if j.sides == nil {
		return
	}
	//tidy:unordered each name has separate passages
	for _, r := range j.names {
		r.through = slices.DeleteFunc(r.through, func(t passage) bool { return t.member == member })
	}
}
