package sim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Orderly acts of people on members: draining and stopping them while clients hold and wait.

// drain makes a member leave once nothing is held through it.
func (n *nemesis) drain() {
	w := n.world
	m := n.leaver()
	if m == nil {
		return
	}
	w.befall(Drain, 0, []string{m.name}, "%s is drained", m)
	m.leaving, m.back = true, w.between("back", time.Second, 15*time.Second)
	life := m.life
	m.demand(life, &session.Drain{}, w.between("limit", time.Second, 8*time.Second), func(result any) {
		if _, drained := result.(*session.Drained); drained {
			w.hit(Drain)
			w.trace("%s is drained: nothing is held through it", m)
		}
		m.quit(life, func() {})
	})
}

// shutdown asks a member's process to end, like a service manager that will start it again.
func (n *nemesis) shutdown() {
	w := n.world
	m := n.leaver()
	if m == nil {
		return
	}
	w.befall(Shutdown, 0, []string{m.name}, "%s is asked to end", m)
	m.leaving, m.back = true, w.between("back", 10*time.Millisecond, 4*time.Second)
	m.quit(m.life, func() { w.hit(Shutdown) })
}

// leaver picks a member that can take a command, sometimes the coordinator.
func (n *nemesis) leaver() *process {
	if m := n.memberOrCoordinator(); m.up && !m.paused && !m.leaving {
		return m
	}
	return nil
}

// memberOrCoordinator picks a member, sometimes the coordinator.
func (n *nemesis) memberOrCoordinator() *process {
	w := n.world
	m := n.member("member")
	if w.oneIn("coordinator", 3) {
		if c := w.coordinator(); c != nil {
			return c
		}
	}
	return m
}

// The time limits of a member that ends (cmd/holdfast: leaveLimit; node: leaveLimit, lookAgain).
const (
	leaveLimit = 5 * time.Second
	lookAgain  = time.Second
)

// quit ends a process in good order: it asks its holders to stop, and waits for them for a while; it sends clients to
// other members; and it informs the others (cmd/holdfast: member.stop; node: Leave, Close).
func (m *process) quit(life uint32, ends func()) {
	w := m.world
	m.demand(life, &membership.Leave{}, leaveLimit, func(result any) {
		limit := leaveLimit
		if result == nil {
			limit = lookAgain
		}
		w.trace("%s has left: %v; it sends its clients elsewhere", m, result != nil)
		m.sendAway()
		m.demand(life, &session.LeaveNow{}, limit, func(any) {
			ends()
			m.depart(life)
		})
	})
}

// sendAway ends the streams of all clients once all messages on them have arrived, and the session of the users within
// the process (server.Shutdown, node.closeSessions).
func (m *process) sendAway() {
	for _, l := range m.world.links {
		if l.member == m && l.life == m.life && !l.broken {
			l.server.finish()
		}
	}
	if l := m.local; l != nil && l.session.Number != 0 {
		l.end()
		m.query(protocol.Below, &session.End{ID: l.session, Proven: true})
	}
}

// demand makes a request to the machine of a life, and continues with the answer, or with nil if it has not come within
// a limit. A paused process does so when it wakes.
func (m *process) demand(life uint32, fact any, limit time.Duration, then func(any)) {
	w := m.world
	over := false
	var next func(any)
	next = func(result any) {
		switch {
		case over || !m.up || m.life != life:
		case m.paused:
			w.do(w.now+50*time.Millisecond, func() { next(result) })
		default:
			over = true
			then(result)
		}
	}
	m.ask(protocol.Below, fact, func(result any) { w.do(w.now, func() { next(result) }) })
	w.do(w.now+limit, func() { next(nil) })
}

// lose destroys so many founders permanently, machines and cells, that the remaining ones are no quorum. An operator
// will force a view of those; later new members, which know nothing, get the addresses of the lost ones.
func (n *nemesis) lose() {
	w := n.world
	c := w.coordinator()
	if len(n.lost) > 0 || c == nil {
		return
	}
	order := w.order("victims", w.names(w.settings.founders), func() []int { return w.rand.Perm(w.settings.founders) })
	s := w.scope()
	victims := order[:w.settings.founders/2+1]
	for _, place := range victims {
		m := w.members[place]
		w.befall(Force, 0, []string{m.name}, "%s is lost for good", m)
		if m.up {
			m.crash(m.life)
		}
		m.forget()
		m.gone = true
		n.lost = append(n.lost, m)
	}
	before := n.promised()
	w.goOn(s)
	w.do(w.now+w.between("waits", 500*time.Millisecond, 8*time.Second), func() {
		w.goOn(s)
		n.force(before, 12)
	})
}

// promised is the highest epoch that any member has promised or follows.
func (n *nemesis) promised() (counter uint64) {
	for _, m := range n.world.members {
		if m.up && m.view != nil {
			counter = max(counter, m.view.Epoch.Counter, m.view.Lease.Promised)
		}
	}
	return counter
}

// forced reports whether there is a view of a later epoch: without a quorum it was forced.
func (n *nemesis) forced(before uint64) bool {
	return slices.ContainsFunc(n.world.members, func(m *process) bool {
		return m.up && m.view != nil && m.view.Installed && m.view.Epoch.Counter > before
	})
}

// force makes an operator force a view of all remaining members, repeatedly until there is one. Then new members
// replace the lost ones.
func (n *nemesis) force(before uint64, tries int) {
	w := n.world
	if w.healed {
		return
	}
	s := w.scope()
	forced := n.forced(before)
	if forced || tries == 0 {
		if forced {
			w.hit(Force)
		}
		w.trace("others come to the addresses of the lost; a view was forced: %v", forced)
		w.do(w.now+w.between("replaces", 2*time.Second, 10*time.Second), n.replace)
		return
	}
	w.do(w.now+w.between("again", time.Second, 4*time.Second), func() {
		w.goOn(s)
		n.force(before, tries-1)
	})
	m := pick(w, "through", w.members[:w.settings.founders])
	if !m.up || m.paused || m.view == nil {
		return
	}
	names := n.left(m)
	if names == nil {
		return
	}
	w.befall(Force, 0, []string{m.name}, "an operator forces a view of %v at %s", names, m)
	m.ask(protocol.Below, &membership.Force{Members: names, Reason: "the others are lost for good", Wall: w.wallOf(m)}, func(result any) {
		if answer, ok := result.(*membership.Forced); ok {
			w.trace("%s answers the operator: %v", m, answer.Err)
		}
	})
}

// left names the members of m's view that are not lost. It names none if a founder outside the view could still be part
// of a quorum: then a forced view is not safe.
func (n *nemesis) left(m *process) (names []string) {
	self, ok := m.query(protocol.Below, &membership.Who{}).(*membership.Self)
	if !ok || self.Cell.Accepted == nil {
		return nil
	}
	for _, o := range n.world.members {
		switch _, listed := self.Cell.Accepted.Of(o.id); {
		case o.gone:
		case listed && (o.founder || o.up):
			names = append(names, o.name)
		case o.founder:
			return nil
		}
	}
	return names
}

// replace starts new members at the addresses of the lost ones.
func (n *nemesis) replace() {
	w := n.world
	for _, m := range slices.Clone(n.lost) {
		m.gone = false
		w.within(m.name, "replaced", int(m.life))
		w.do(w.now+w.below("after", 3*time.Second), m.start)
	}
	n.lost = nil
}
