package central

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// onRaised takes what the membership says.
func (m *Machine) onRaised(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		m.onView(now, fact, out)
	case *protocol.Halted:
		m.onHalted(now, out)
	case *protocol.Lapsed:
		m.onLapsed(now, fact, out)
	}
}

// onView takes up a role under a view, or goes on with it. Under a new epoch, or
// another coordinator, everybody begins anew: what is held and waited for is what the
// holders say, and nobody's table outlives its reign (H11).
func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	before := m.view
	if before != nil && view.Epoch.Counter < before.Epoch.Counter {
		panic(fmt.Sprintf("central: epoch went back from %d to %d", before.Epoch.Counter, view.Epoch.Counter))
	}
	same := before != nil && !m.halted && view.Epoch == before.Epoch && view.Coordinator == before.Coordinator
	if !same {
		m.ceaseCoord(now)
		m.beginReign()
	}
	m.view, m.lease, m.halted = view, view.Lease, false
	if m.lease.Tenure.Lapses != m.holder.lapses {
		m.holderLapsed(now, m.lease.Tenure, out)
	}
	for r := m.holder.all.first; !same && r != nil; r = r.links[ofAll].next {
		m.remind(r) // waits end as they do where nobody is in charge
	}
	if m.coordinates() {
		if m.coord == nil {
			m.becomeCoord(now, out)
		}
		m.coordView(now, out)
	}
	if !same {
		m.endOperations(now, out)
	}
	m.confirm(out)
	m.keptInfoRequest(now, out)
}

// coordinates reports whether the newest view names this member, in its present
// tenure, as its coordinator.
func (m *Machine) coordinates() bool {
	return m.admitted() && m.view.Coordinator == m.self
}

// admitted reports whether the newest view has this member in its present tenure, and
// its coordinator is one still as far as is known here.
func (m *Machine) admitted() bool {
	if m.view == nil || m.halted {
		return false
	}
	member, ok := m.view.Of(m.self)
	return ok && member.Tenure == m.lease.Tenure
}

// onHalted stops granting, and asking: whoever coordinates next is told by reports
// what is held and wanted. Holders go on.
func (m *Machine) onHalted(now protocol.Time, out *protocol.Effects) {
	m.ceaseCoord(now)
	m.halted = true
	m.holder.stage = silent
	m.endOperations(now, out)
}

// onLapsed ends what the ended lease no longer covers: every hold is lost, because of
// its member. What waits is asked for again under the next tenure, by other numbers:
// the old ones' grants are void, and freed with the old tenure. Package session ends
// the sessions of clients by itself.
func (m *Machine) onLapsed(now protocol.Time, lapsed *protocol.Lapsed, out *protocol.Effects) {
	m.ceaseCoord(now)
	m.endOperations(now, out)
	m.holderLapsed(now, lapsed.Tenure, out)
}

// becomeCoord begins a coordinator's reign: it asks everybody what they hold and wait
// for, and grants nothing yet.
func (m *Machine) becomeCoord(now protocol.Time, out *protocol.Effects) {
	table, err := lock.New(m.config.Table)
	if err != nil {
		panic(fmt.Sprintf("central: a table that New has made before: %v", err))
	}
	reign, count := m.view.Epoch.Counter, m.view.Count
	if m.holder.reign == reign {
		count = max(count, m.holder.counted)
	}
	if protocol.Mutated("token counter in memory") {
		reign, count = 1, m.holder.counted
	}
	table.BeginReign(reign, count)
	table.Pause()
	m.coord = newCoordinator(table, m.view.Epoch)
	if len(m.view.Members) > 1 {
		out.Note(Reconciling{Reign: m.view.Epoch.Counter, Members: len(m.view.Members)})
	}
}

// ceaseCoord ends the role: the table is dropped, but for what this member's own
// clients have in it. That becomes records, to be reported to whoever comes next.
func (m *Machine) ceaseCoord(now protocol.Time) {
	c := m.coord
	if c == nil {
		return
	}
	m.coord = nil
	if !m.deciding {
		return
	}
	m.deciding = false
	m.holder.reign, m.holder.counted = c.table.Reign(), c.table.Count()
	var own []lock.Seat
	for cursor := uint64(0); ; {
		chunk := c.table.Snapshot(now, cursor, m.config.Chunk)
		for i := range chunk.Seats {
			if protocol.ID(chunk.Seats[i].Session.Member) == m.self {
				own = append(own, chunk.Seats[i])
			}
		}
		if cursor = chunk.Next; cursor == 0 {
			break
		}
	}
	slices.SortStableFunc(own, func(a, b lock.Seat) int {
		return cmp.Or(
			cmp.Compare(b.Age, a.Age),
			cmp.Compare(a.Session.Number, b.Session.Number),
			cmp.Compare(a.Request, b.Request),
		)
	})
	for i := range own {
		m.holderRestore(now, &own[i])
	}
}

// Reconciling notes that a coordinator has begun to ask what is held and waited for.
type Reconciling struct {
	Reign   uint64
	Members int
}

func (n Reconciling) String() string {
	return fmt.Sprintf("reconciling reign %d with %d members", n.Reign, n.Members)
}
