package sim

import (
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Checks of the members themselves: there is one authority, and it knows every member that may hold. Membership
// promises both to the protocols (docs/design/membership.md); a name held twice is the consequence when one is broken.

// powerful reports whether a member may grant at this instant, by its own clock; powerfulAt does so for another
// instant, if nothing happens before it.
func (m *process) powerful() bool { return m.powerfulAt(m.world.now) }

func (m *process) powerfulAt(at instant) bool {
	v := m.view
	if !m.leasedAt(at) || v.Coordinator != m.id || !v.Installed {
		return false
	}
	now := m.clock.read(at) - m.began
	return now >= v.GrantFrom && now < v.Lease.Role
}

// leased reports whether the lease of a member's users runs at this instant, by its own clock; leasedAt does so for
// another instant, if nothing happens before it.
func (m *process) leased() bool { return m.leasedAt(m.world.now) }

func (m *process) leasedAt(at instant) bool {
	return m.up && m.view != nil && m.view.Lease != nil && m.clock.read(at)-m.began < m.view.Lease.Member
}

// viewed records a member's view. With the first one its own users start, as in internal/host.
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

// gone records the end of a member's process.
func (w *world) gone(m *process) { m.view, m.decides = nil, false }

// decides records that a member starts to decide. It answers releases from then on, before it serves, and while a
// member that the view dropped may still refuse.
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

// preempted records a coordinator that has replaced one that is well.
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

// checkAuthority checks all members when one of them may grant. A member with a different configuration must not have
// any role. Sides of a partition that continue alone have an authority each, and wait for no member.
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

// knows reports whether a coordinator's view lists a member with the tenure that it holds under, or waits until that
// tenure has ended. A member that follows a later view of the same coordinator has its place from there. A tenure of a
// member that has promised itself to a later epoch, and that this coordinator has never had, takes nothing from it.
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

// reigns reports whether a member decides in the users' space, and the reign in which it counts tokens.
func (m *process) reigns() (reign uint64, decides bool) {
	if m.view == nil || m.space() == nil {
		return 0, false
	}
	return m.world.protocol.Decides(m.space())
}

// decider returns the member that decides, or nil: the coordinator, or the member with that role in a protocol where it
// moves. If there are several, the one of the highest reign counts.
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

// lent reports whether a member that does not decide grants a request in the very step of the call, because it has kept
// the name.
func (w *world) lent(m *process, d *lock.Decision) bool {
	if w.settings.known.HoldOn == 0 || d.Kind != lock.Granted || m.current == nil || m.current.Session != d.Session || m.current.ID != d.Request {
		return false
	}
	_, decides := m.reigns()
	return !decides
}

// reaches reports whether a client can receive a member's answer about a request. A client that has gone to another
// member does not hear it. A client whose hello is unanswered ignores the answer if it has settled the request: the
// member may lag behind the others.
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

// decided records a member's answer about a request.
func (w *world) decided(m *process, reply *protocol.Reply) {
	d := &reply.Decision
	if reply.Port == userSpace {
		w.observer.decided(m, d)
	}
	if reply.Port != userSpace || w.protocol.Logs && !m.reaches(reply.To.Sink, d.Request) {
		return // the client does not hear it, and gets its answer from another member
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
	// Without a lease, a member reports releases that others notice later; and it reports a cancel before others know
	// of it. So only a release by a member with a lease proves that the lock was taken back.
	if d.Kind == lock.Released && edge.CallOf(reply.To.Op) == edge.CallRelease && m.leased() {
		w.judge.histories.taken(key)
	}
}
