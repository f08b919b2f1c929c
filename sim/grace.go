package sim

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A name with a grace is reserved for its last holder when the hold limit has passed, as if it were still held (P3).
// The grace begins when the holder's member reports that the limit has ended the grant. It lasts for its duration by
// that member's clock, or until the holder reports that it has stopped. If the member's stay ends meanwhile, the
// outcome depends on which members have heard of the grace: see protocol/bakery/testdata/grace.txt.

// grace is a name reserved for its last holder. As a believer, it believes until the end of the reservation.
type grace struct {
	member  *process
	life    uint32
	place   protocol.Member // of the stay through which the name was held
	until   protocol.Time   // by the member's clock
	stopped bool
}

func (g *grace) String() string { return "a holder through " + g.member.name }

func (g *grace) believesAt(at instant) bool {
	m := g.member
	if g.stopped || m.life != g.life || !m.leasedAt(at) || m.clock.read(at)-m.began >= g.until {
		return false
	}
	now, listed := m.view.Of(m.id)
	return listed && now.Since == g.place.Since && now.Tenure == g.place.Tenure
}

// gracious is called with every decision of a member, and begins a grace.
func (w *world) gracious(m *process, d *lock.Decision) {
	if w.settings.known.Grace == 0 || d.Kind != lock.Lost || d.Loss != holdfast.HoldLimit || !m.leased() {
		return
	}
	if m.releasing != nil && givesBack(m.releasing, d.Session, d.Request, d.Name, d.Token) {
		return // time is judged before messages: its holder has stopped
	}
	if slices.ContainsFunc(m.deferred, func(r protocol.Release) bool { return givesBack(&r, d.Session, d.Request, d.Name, d.Token) }) {
		return // its holder stopped before, and the release waited for the client that it was inherited from
	}
	place, listed := m.view.Of(m.id)
	if !listed {
		return
	}
	kept := &grace{member: m, life: m.life, place: place, until: m.now() + w.settings.known.Grace}
	g := grantIn(d, kept)
	g.holder = kept
	w.judge.keeps(g)
}

// stops is called before a member takes a release, which ends a grace of that hold.
func (w *world) stops(r *protocol.Release) {
	if w.settings.known.Grace > 0 && w.judge.stops(r) {
		w.exercises(leadStopped, true)
	}
}

// keeps is called when a name is to be reserved for its last holder. Each hold of an owner gets the end of their common
// grant.
func (j *judge) keeps(g grant) {
	r := j.record(g.name)
	r.prune(j.clock())
	for i := range r.holders {
		if _, kept := r.holders[i].holder.(*grace); kept && r.holders[i].same(&g) {
			return
		}
	}
	r.holders = append(r.holders, g)
}

// givesBack reports whether a release is for a hold.
func givesBack(r *protocol.Release, session lock.SessionID, request uint64, name string, token holdfast.Token) bool {
	return r.Session == session && r.Name == name && (r.Token == token || r.Token == 0 && r.Request == request)
}

// stops ends the grace of the released hold. It reports whether there is one.
func (j *judge) stops(release *protocol.Release) bool {
	r := j.record(release.Name)
	for i := range r.holders {
		h := &r.holders[i]
		kept, is := h.holder.(*grace)
		if is && givesBack(release, h.session, h.request, h.name, h.token) {
			lasted := kept.believesAt(j.clock())
			kept.stopped = true
			return lasted
		}
	}
	return false
}

// keptFor reports whether h is a reserved name, and the grant of it to g breaks P3.
func (j *judge) keptFor(h, g *grant) bool {
	_, kept := h.holder.(*grace)
	if kept {
		j.violate("P3", "%v has had %q %v, token %d of session %v, until its hold limit, and in its grace the name is granted to session %v under token %d",
			h.who, h.name, h.mode, h.token, h.session, g.session, g.token)
	}
	return kept
}
