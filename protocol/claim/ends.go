package claim

import (
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Some stores report that a process has ended (storage.Features.Ends). No client of such a process believes in a lock
// any more, so its lease counts as over, and its claims are passed over.
//
// A process has its own end reported (Attend) only if its clients end with it (Config.Attends): the command of
// `holdfast lock`, and the users within a program. It does so before its first write. A member with clients elsewhere
// does not, so its locks end by their leases; but it waits for the ends of the others like all.

// endings is what there is of ends here.
type endings struct {
	attends attendance
	awaited map[string]*awaited // by process
}

// attendance is how far this process has come to have its end reported.
type attendance uint8

const (
	absent attendance = iota
	arriving
	present // or the store has refused it: the leases count then
)

// awaited is a process whose end names here wait for.
type awaited struct {
	names int // how many
	since protocol.Time
	known bool // the store has answered
	ended bool
}

// mostAwaited is the maximum number of processes that one name waits for: as many as may be before a standing claim,
// and their next ones.
const mostAwaited = 2 * line

// attends reports whether the end of this process will be reported, if that is wanted. If not yet, the bid waits.
func (m *Machine) attends(c *claim, out *protocol.Effects) bool {
	e := &m.endings
	if !m.config.Attends || !m.config.Store.Ends || e.attends == present {
		return true
	}
	if e.attends == absent {
		e.attends = arriving
		out.Send(protocol.Storage, storage.Attend{RID: m.config.RID})
	}
	c.due = protocol.Never
	return false
}

// onAttended continues the bids that wait for it.
func (m *Machine) onAttended(fact storage.Attended, out *protocol.Effects) {
	if m.endings.attends != arriving || fact.RID != m.config.RID {
		return
	}
	if fact.Err != nil {
		out.Note(Unattended{Err: fact.Err})
	}
	m.endings.attends = present
	m.touchUndated()
}

// awaitEnds makes a name wait for the ends of these processes, and of no others. It returns until when the store may
// still answer whether they have ended already.
func (m *Machine) awaitEnds(now protocol.Time, n *name, rids []string, out *protocol.Effects) (until protocol.Time) {
	if !m.config.Store.Ends {
		return now
	}
	rids = rids[:min(len(rids), mostAwaited)]
	e := &m.endings
	for _, rid := range rids {
		a := e.awaited[rid]
		if a == nil {
			a = &awaited{since: now}
			if e.awaited == nil {
				e.awaited = map[string]*awaited{}
			}
			e.awaited[rid] = a
			out.Send(protocol.Storage, storage.Await{RID: rid})
		}
		if !slices.Contains(n.awaits, rid) {
			a.names++
		}
		if !a.known {
			until = max(until, a.since+max(m.config.Wait, m.config.Patience))
		}
	}
	for _, rid := range n.awaits {
		if a := e.awaited[rid]; !slices.Contains(rids, rid) {
			if a.names--; a.names == 0 {
				delete(e.awaited, rid)
				out.Send(protocol.Storage, storage.Unawait{RID: rid})
			}
		}
	}
	n.awaits = slices.Clone(rids)
	return until
}

// onAwaited has the names looked at that wait for a process.
func (m *Machine) onAwaited(now protocol.Time, fact storage.Awaited) {
	a := m.endings.awaited[fact.RID]
	if a == nil || a.ended {
		return
	}
	a.known = true
	a.ended = fact.Ended || protocol.Mutated("a process that is not known to have ended lives")
	var waiting []*name
	//tidy:unordered they are put in order
	for _, n := range m.names {
		if slices.Contains(n.awaits, fact.RID) && n.bid != nil && !n.bid.waits && (m.config.CAS || n.bid.phase == standing || n.bid.phase == resting) {
			waiting = append(waiting, n)
		}
	}
	slices.SortFunc(waiting, byText)
	for _, n := range waiting {
		n.bid.due = now
		m.touch(n)
	}
}

// hasEnded reports whether a process is known to have ended.
func (m *Machine) hasEnded(rid string) bool {
	a := m.endings.awaited[rid]
	return a != nil && a.ended
}
