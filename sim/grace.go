package sim

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A name with a grace is kept for its last holder when the hold limit has passed, as if that held it still (P3). It is so from
// when the holder's member says that the limit has ended the grant, for the grace by that member's clock or until the holder says
// that it has stopped. What becomes of it when the member's stay ends meanwhile depends on who has heard of it:
// protocol/bakery/testdata/grace.txt has that.

// grace is a name that is kept for its last holder: it believes as long as the name is promised to be.
type grace struct {
	member  *process
	life    uint32
	place   protocol.Member // of the stay through which it was held
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

// gracious is called with everything that a member decides, and begins a grace.
func (w *world) gracious(m *process, d *lock.Decision) {
	if w.settings.known.Grace == 0 || d.Kind != lock.Lost || d.Loss != holdfast.HoldLimit || !m.leased() {
		return
	}
	if m.releasing != nil && givesBack(m.releasing, d.Session, d.Request, d.Name, d.Token) {
		return // time is looked at before what has come: its holder has stopped
	}
	if slices.ContainsFunc(m.deferred, func(r protocol.Release) bool { return givesBack(&r, d.Session, d.Request, d.Name, d.Token) }) {
		return // its holder has stopped before, and the release waited for the client that it was inherited from
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

// stops is called before a member takes a release: of what is in its grace, it ends that.
func (w *world) stops(r *protocol.Release) {
	if w.settings.known.Grace > 0 && w.judge.stops(r) {
		w.exercises(leadStopped, true)
	}
}

// keeps is called when a name is to be kept for its last holder. Each of an owner's holds gets the end of their grant.
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

// givesBack reports whether a release is of a hold.
func givesBack(r *protocol.Release, session lock.SessionID, request uint64, name string, token holdfast.Token) bool {
	return r.Session == session && r.Name == name && (r.Token == token || r.Token == 0 && r.Request == request)
}

// stops ends the grace that a release is about. It reports whether one is.
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

// keptFor reports whether h is a name that is kept for its last holder, and that its grant to g breaks P3.
func (j *judge) keptFor(h, g *grant) bool {
	_, kept := h.holder.(*grace)
	if kept {
		j.violate("P3", "%v has had %q %v, token %d of session %v, until its hold limit, and in its grace the name is granted to session %v under token %d",
			h.who, h.name, h.mode, h.token, h.session, g.session, g.token)
	}
	return kept
}
