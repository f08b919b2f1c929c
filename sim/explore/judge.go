package explore

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Violation is a broken promise.
type Violation struct {
	Promise string // P1 … P6, or panic
	Detail  string // the observation, in a sentence
}

func (v *Violation) String() string { return v.Promise + ": " + v.Detail }

// liveness is the promise that every call is answered once the faults have ended.
const liveness = "P4"

// violate records the first broken promise of a transition.
func (e *engine) violate(promise, format string, arguments ...any) {
	if e.broken == nil {
		e.broken = &Violation{promise, fmt.Sprintf(format, arguments...)}
	}
}

// judge checks a state: no two users believe they hold one lock (P1), and one member at a time may grant, which knows
// all members that may hold.
func (e *engine) judge(w *world) {
	for i := range w.Users {
		for j := range i {
			if w.believes(i) && w.contends(i, j) && e.excess(w, i) {
				e.violate("P1", "%s holds %q under token %d, and so does %s under token %d", w.who(j), nameOf(w.Users[j].Name),
					w.Users[j].Token, w.who(i), w.Users[i].Token)
			}
		}
	}
	for _, m := range w.members {
		if !w.powerful(m) {
			continue
		}
		for _, other := range w.members {
			if other == m || !other.up {
				continue
			}
			if w.powerful(other) {
				e.violate("P1", "%s may grant in epoch %d, and %s in epoch %d", m.name, m.soul.View.Epoch.Counter, other.name, other.soul.View.Epoch.Counter)
			} else if w.leased(other) && !w.knows(m, other) {
				e.violate("P1", "%s may grant in view %d of epoch %d, which does not know that %s holds under tenure %v of epoch %d",
					m.name, m.soul.View.Number, m.soul.View.Epoch.Counter, other.name, other.soul.View.Lease.Tenure, other.soul.View.Epoch.Counter)
			}
		}
	}
}

// powerful, leased and knows correspond to those of package sim's authority.go.

// powerful reports whether a member may grant at this instant, by its own clock.
func (w *world) powerful(m *member) bool {
	if !m.up || m.soul.View == nil {
		return false
	}
	v, now := m.soul.View, m.clock(w.now)
	return v.Coordinator == m.id && v.Installed && now >= v.GrantFrom && now < v.Lease.Role && now < v.Lease.Member
}

// leased reports whether the lease of a member's users runs at this instant.
func (w *world) leased(m *member) bool {
	return m.up && m.soul.View != nil && m.clock(w.now) < m.soul.View.Lease.Member
}

// knows reports whether a coordinator's view lists a member with the tenure that it holds under, or waits until that
// tenure has ended.
func (w *world) knows(m, other *member) bool {
	ours, theirs := m.soul.View, other.soul.View
	tenure := theirs.Lease.Tenure
	if at, listed := ours.Of(other.id); listed && at.Tenure == tenure {
		return true
	}
	for _, dropped := range ours.Dropped {
		if dropped.ID == other.id && dropped.Tenure == tenure {
			return dropped.Free > m.clock(w.now)
		}
	}
	return max(theirs.Epoch.Counter, theirs.Lease.Promised) > ours.Epoch.Counter ||
		theirs.Epoch == ours.Epoch && theirs.Number > ours.Number
}

// settled reports whether everything is answered: all members are up and have leases in one view whose coordinator may
// grant, and no user waits or holds.
func (w *world) settled() bool {
	var leader *protocol.View
	for _, m := range w.members {
		if w.powerful(m) {
			leader = m.soul.View
		}
	}
	if leader == nil || len(w.held) > 0 {
		return false
	}
	for _, m := range w.members {
		if !m.up || m.paused || !w.leased(m) || m.soul.View.Epoch != leader.Epoch || m.soul.View.Number != leader.Number || !m.soul.View.Installed {
			return false
		}
	}
	for i := range w.Users {
		if w.Users[i].Phase != idle {
			return false
		}
	}
	return true
}
