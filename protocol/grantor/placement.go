package grantor

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// Placement (Options.Placement): if another member uses a grantor's table much more than the grantor's own clients, the
// grantor lets that member become the grantor. The package documentation describes the criteria, and why it does not
// move back and forth.

const (
	// remoteUse is the number of messages of a lock and its unlock at another member than the grantor; at the grantor
	// there are none.
	remoteUse = 3
	// priceOfMove is the number of messages of a move: the Invite and its answer, and the 6 of becoming.
	priceOfMove = 8
	// priceOfPart is the number for each further part of the table.
	priceOfPart = 2
	// priceOfStale is the number until a member that asks the previous grantor knows the new one.
	priceOfStale = 2

	// dominance is how many times as often as the grantor another member must lock.
	dominance = 2
	// repaid is how many times its price a move must save in one window. With 4 it has paid for itself after a quarter
	// of a window of that load, and its other costs, the gap and the size of a table's parts, are small compared to the
	// saving.
	repaid = 4
	// windowsToRest is the minimum number of windows of a reign that began with a handover of the table, before
	// grantorship moves again automatically.
	windowsToRest = 6
)

// placement is a grantor's counts. Windows are consecutive from the beginning of its reign; a window without grants
// wakes no member.
type placement struct {
	version authority.Version // of the reign that is counted
	began   protocol.Time
	ends    protocol.Time // of the window in which something was granted; Never where nothing was
	last    int64         // the number of the last window in which something was granted; -1 before one
	heavy   []protocol.ID // who locked enough in that one
	rests   int64         // the first window at whose end grantorship may move
}

// beginPlacement starts the counts of a new reign, and rests for a number of windows.
func (m *Machine) beginPlacement(now protocol.Time, rest int64) {
	if m.config.Placement != 0 {
		m.endPlacing()
		m.placement = &placement{version: m.reign.Version, began: now, ends: protocol.Never, last: -1, rests: rest}
	}
}

// tendPlacement counts as long as this member is the grantor, and evaluates the counts at the end of each window.
func (m *Machine) tendPlacement(now protocol.Time, out *protocol.Effects) {
	if m.config.Placement == 0 {
		return
	}
	if m.reign.Authority != m.self || !m.part.Serves() {
		if m.placement != nil {
			m.placement = nil
			m.endPlacing()
		}
		return
	}
	if m.placement == nil || m.placement.version != m.reign.Version {
		rest := int64(0)
		if m.moved == m.reign.Version {
			rest = windowsToRest - 1 // it was to have the table of the one before, which was lost
		}
		m.beginPlacement(now, rest)
	}
	p := m.placement
	if p.ends <= now {
		m.weigh(now, out)
	}
	if p.ends == protocol.Never && m.part.Given() {
		p.ends = p.began + protocol.Time(m.window(now)+1)*m.config.Placement
	}
}

// window is the number of the window that a time is in.
func (m *Machine) window(now protocol.Time) int64 {
	return int64((now - m.placement.began) / m.config.Placement)
}

func (m *Machine) placementWake() protocol.Time {
	if m.placement == nil {
		return protocol.Never
	}
	return m.placement.ends
}

// weigh evaluates the counts of the window that has ended. Grantorship moves to the member that locks most among those
// that have locked enough in this window and in the previous one.
func (m *Machine) weigh(now protocol.Time, out *protocol.Effects) {
	p := m.placement
	window := int64((p.ends-p.began)/m.config.Placement) - 1
	p.ends = protocol.Never
	counts := m.part.GrantCount()
	own, others := counts[0], counts[1:]
	users := 0
	for _, t := range others {
		if t.Grants > 0 {
			users++
		}
	}
	price := m.priceOfMove(users - 1) // the one that it moves to asks no other
	follows := window == p.last+1
	before := p.heavy
	p.last, p.heavy = window, nil
	var best authority.GrantCount
	for _, t := range others {
		if t.Grants < dominance*own.Grants || saving(own, t) < repaid*price {
			continue
		}
		p.heavy = append(p.heavy, t.Member)
		if follows && slices.Contains(before, t.Member) && t.Grants > best.Grants {
			best = t
		}
	}
	if best.Member == 0 || window < p.rests || !m.mayMove() {
		return
	}
	out.Note(Placing{
		To: best.Member, Theirs: best.Grants, Own: own.Grants, Window: m.config.Placement,
		Saves: saving(own, best), Costs: price,
	})
	m.invite(now, &transfer{
		to: best.Member, placed: true, due: protocol.Never, deadline: now + patienceOfTransfer*m.config.Patience,
	}, out)
}

// saving returns how many fewer messages a window would take if the other member were the grantor.
func saving(own, other authority.GrantCount) int { return remoteUse * (other.Grants - own.Grants) }

// priceOfMove returns the number of messages of a move, if that many other members use the table.
func (m *Machine) priceOfMove(users int) int {
	parts := max(1, (m.part.Size()+m.config.Config.Chunk-1)/m.config.Config.Chunk)
	return priceOfMove + priceOfPart*(parts-1) + priceOfStale*users
}

// mayMove reports whether nothing else is under way with this member's grantorship.
func (m *Machine) mayMove() bool {
	return m.admitted() && !m.part.Closed() && !m.departing && m.seek == nil && m.successor == nil && m.handover == nil && !m.becoming && len(m.transfers) == 0
}

// moveFailed continues after a member has refused to become the grantor, for example because the space is closed there,
// or was not heard: a whole window passes before the next attempt.
func (m *Machine) moveFailed(now protocol.Time, to protocol.ID, err error, out *protocol.Effects) {
	if m.placement == nil || err == nil {
		return // it is the grantor now
	}
	m.placement.rests = m.window(now) + 1
	out.Note(Staying{To: to})
}

// endPlacing stops asking members: the reign that asked has ended.
func (m *Machine) endPlacing() {
	m.transfers = slices.DeleteFunc(m.transfers, func(t *transfer) bool { return t.placed })
}

// Placing notes that a grantor lets another member become it, because that one locks most.
type Placing struct {
	To     protocol.ID
	Theirs int // grants to its clients in the last window
	Own    int // to the grantor's own
	Window time.Duration
	Saves  int // messages a window
	Costs  int // messages
}

func (n Placing) String() string {
	return fmt.Sprintf("moving to %d, which has locked %d times in %v, and this member %d times: saves %d messages a window, costs %d",
		n.To, n.Theirs, n.Window, n.Own, n.Saves, n.Costs)
}

// Log names the member, and the saving.
func (n Placing) Log(called func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Info, "another member locks most: it is asked to become the grantor", []any{
		"member", called(n.To), "its_locks", n.Theirs, "own_locks", n.Own, "in", n.Window, "saves", n.Saves, "costs", n.Costs,
	}
}

// Staying notes that the member that locks most has not become the grantor.
type Staying struct{ To protocol.ID }

func (n Staying) String() string {
	return fmt.Sprintf("staying: %d has refused, or was not heard in time", n.To)
}

// Log names the member.
func (n Staying) Log(called func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Info, "the member that locks most has refused to become the grantor, or was not heard in time", []any{"member", called(n.To)}
}
