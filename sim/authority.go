package sim

import (
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What is checked of the members themselves: that there is one authority, and that it
// knows of every member that may hold. Both are promises of membership to the protocols
// (docs/design/membership.md); a lock held twice is what follows when they are broken.

// powerful reports whether a member may grant in this instant, by its own clock; and
// powerfulAt at another one, if nothing happens till then.
func (m *process) powerful() bool { return m.powerfulAt(m.world.now) }

func (m *process) powerfulAt(at instant) bool {
	v := m.view
	if !m.leasedAt(at) || v.Coordinator != m.id || !v.Installed {
		return false
	}
	now := m.clock.read(at) - m.began
	return now >= v.GrantFrom && now < v.Lease.Role
}

// leased reports whether what a member's users hold goes on in this instant, by its
// own clock; and leasedAt at another one, if nothing happens till then.
func (m *process) leased() bool { return m.leasedAt(m.world.now) }

func (m *process) leasedAt(at instant) bool {
	return m.up && m.view != nil && m.view.Lease != nil && m.clock.read(at)-m.began < m.view.Lease.Member
}

// viewed takes note of a member's view. With the first, its own users begin, as in
// internal/host.
func (w *world) viewed(m *process, v *protocol.View) {
	if w.judge.sides != nil {
		w.judge.sides.viewed(m, v)
	}
	if w.settings.faults.Has(Preempt) {
		w.preempted(m, v)
	}
	if w.protocol.PeerProbe != nil || w.protocol.LeaderProbe != nil {
		w.joins(m, v)
	}
	w.reporter.viewed(m, v)
	m.view = v
	if w.protocol.PeerProbe != nil && v.Open {
		m.opened()
	}
	if w.settings.locals && m.local == nil {
		m.local = newLocal(m)
		w.do(w.now, m.local.open)
	}
}

// gone takes note of the end of a member's process.
func (w *world) gone(m *process) { m.view, m.decides = nil, false }

// decides takes note of a member that begins to decide. It answers releases from then on, before it
// serves, and while a member that was dropped by the view may still refuse.
func (w *world) decides(m *process) {
	if w.protocol.Decides == nil {
		return
	}
	_, decides := m.reigns()
	if decides && !m.decides {
		w.judge.succeeds()
	}
	m.decides = decides
}

// preempted takes note of a coordinator that has taken the place of one that is well.
func (w *world) preempted(m *process, v *protocol.View) {
	if v.Coordinator != m.id || m.view == nil || m.view.Coordinator == m.id {
		return
	}
	before := w.network.of[m.view.Coordinator]
	if before == nil {
		return
	}
	if _, follows := v.Of(before.id); follows && before.up && before.id == m.view.Coordinator && before.id < m.id {
		w.hit(Preempt)
		w.trace("%s, of a higher id, takes the place of %s", m, before)
	}
}

// checkAuthority looks at all members when one of them may grant. A member that is configured
// otherwise than the others must have no part. Sides of a partition that go on alone have
// an authority each, and wait for no member.
func (w *world) checkAuthority(m *process) {
	if m.wrong != fits && m.leased() {
		w.judge.violate("P10", "%s takes part in view %d of epoch %d, and is %v", m, m.view.Number, m.view.Epoch.Counter, m.wrong)
	}
	if w.judge.sides != nil || !m.powerful() {
		return
	}
	if !w.protocol.Locks {
		w.checkBacking(m)
	}
	for _, other := range w.members {
		if other == m {
			continue
		}
		if other.powerful() {
			w.judge.violate("P1", "%s may grant in view %d of epoch %d, and %s in view %d of epoch %d",
				m, m.view.Number, m.view.Epoch.Counter, other, other.view.Number, other.view.Epoch.Counter)
			return
		}
		if other.leased() && !m.knows(other) {
			w.judge.violate("P1", "%s may grant in view %d of epoch %d (%s), which does not know that %s holds under tenure %v of view %d of epoch %d, by a lease for another %v",
				m, m.view.Number, m.view.Epoch.Counter, w.listed(m.view), other, other.view.Lease.Tenure, other.view.Number, other.view.Epoch.Counter,
				other.view.Lease.Member-other.now())
			return
		}
	}
}

// knows reports whether a coordinator's view lists a member under the tenure that it
// holds under, or waits until that has ended. A member that follows a later view of the same
// coordinator has its place from there; and a tenure that this coordinator has never
// had, of a member that has promised itself to a later epoch, takes nothing from it.
func (m *process) knows(other *process) bool {
	tenure := other.view.Lease.Tenure
	if at, listed := m.view.Of(other.id); listed && at.Tenure == tenure {
		return true
	}
	for _, dropped := range m.view.Dropped {
		if dropped.ID == other.id && dropped.Tenure == tenure {
			return dropped.Free > m.now()
		}
	}
	ours, theirs := m.view, other.view
	return max(theirs.Epoch.Counter, theirs.Lease.Promised) > ours.Epoch.Counter ||
		theirs.Epoch == ours.Epoch && theirs.Number > ours.Number
}

// coordinator returns the member that coordinates the newest view, or nil.
func (w *world) coordinator() *process {
	var found *process
	for _, m := range w.members {
		if m.up && m.view != nil && m.view.Coordinator == m.id && (found == nil || m.view.Epoch.Counter > found.view.Epoch.Counter) {
			found = m
		}
	}
	return found
}

// reigns reports whether a member decides in the space that users lock in, and in which
// reign it counts tokens.
func (m *process) reigns() (reign uint64, decides bool) {
	if m.view == nil || m.space() == nil {
		return 0, false
	}
	return m.world.protocol.Decides(m.space())
}

// decider returns the member that decides, or nil: the coordinator, or who has that role in a
// protocol where it moves. Of several the one of the highest reign is it.
func (w *world) decider() *process {
	if w.protocol.Decides == nil {
		return w.coordinator()
	}
	var found *process
	highest := uint64(0)
	for _, m := range w.members {
		if reign, decides := m.reigns(); decides && reign > highest {
			found, highest = m, reign
		}
	}
	return found
}

// lent reports whether a member that does not decide grants a request in the very step in
// which it was asked: it has kept the name.
func (w *world) lent(m *process, d *lock.Decision) bool {
	if w.settings.known.HoldOn == 0 || d.Kind != lock.Granted || m.current == nil || m.current.Session != d.Session || m.current.ID != d.Request {
		return false
	}
	_, decides := m.reigns()
	return !decides
}

// reaches reports whether a client can take a member's answer about a request. A client that has gone to another member does not
// hear it, and one whose hello is not answered yet ignores it for what it has settled: the member may lag behind the others.
func (m *process) reaches(sink, request uint64) bool {
	e, stream := m.sinks[sink].(*server)
	if !stream {
		return m.sinks[sink] != nil
	}
	switch of := &e.link.client.stream; {
	case e.link.broken:
		return false
	case of.link == e.link:
		return true
	default:
		return of.asks(e.link) && of.find(request) != nil
	}
}

// decided takes note of what a member says of a request.
func (w *world) decided(m *process, reply *protocol.Reply) {
	d := &reply.Decision
	if reply.Port != userSpace || w.protocol.Logs && !m.reaches(reply.To.Sink, d.Request) {
		return // the client does not hear it, and another member tells it what it waits for
	}
	key := requestKey{d.Session, d.Request}
	if w.lent(m, d) {
		w.judge.lends(key)
		w.count.hits[heldLent]++
	}
	w.judge.decision(m, edge.CallOf(reply.To.Op), key, d)
	if d.Kind == lock.Granted {
		w.afar(farGranted)
	}
	w.gracious(m, d)
	// Where it has no lease, it says so of what others will notice later; and of what a
	// client gives up, before others know.
	if d.Kind == lock.Released && edge.CallOf(reply.To.Op) == edge.CallRelease && m.leased() {
		w.judge.histories.taken(key)
	}
}
