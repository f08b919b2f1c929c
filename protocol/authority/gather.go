package authority

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// pending is a wait that was reported: it queues by its age when all are known.
type pending struct {
	arrived protocol.Time // by this clock
	rank    int
	entry   lock.Entry
	left    protocol.Time // when its wait limit passes, by this clock; or Never
}

// requestInfo asks a member for the next part of its report. No time ends the asking: a
// member that does not answer is dropped by a change of the view, or not at all (H9).
func (m *Machine) requestInfo(now protocol.Time, p *peer, out *protocol.Effects) {
	out.Send(p.id, InfoRequest{Stamp: m.authorityStamp(p), Chunk: p.chunk})
	p.pause = protocol.Longer(p.pause, m.config.Patience)
	p.due = now + p.pause
}

// onInfoAnswer handles a part of a report, each once and in order.
func (m *Machine) onInfoAnswer(now protocol.Time, p *peer, msg *InfoAnswer, out *protocol.Effects) {
	if p.reported && msg.Last {
		p.acksDue = min(p.acksDue, now+m.ackDelay()) // it has not heard that it is known
		return
	}
	if p.reported || msg.Chunk != p.chunk {
		return
	}
	p.chunk++
	p.pause, p.due = 0, protocol.Never
	for i := range msg.Entries {
		m.takeEntry(now, p, &msg.Entries[i], out)
	}
	if m.deciding {
		m.takeEnds(now, p, msg.Released, out)
	}
	if !msg.Last {
		m.requestInfo(now, p, out)
		return
	}
	p.reported = true
	if p.chunk > 1 || len(msg.Entries)+len(msg.Released) > 0 {
		p.acksDue = min(p.acksDue, now+m.ackDelay())
	}
	if m.deciding {
		m.queuePending(now, out)
	} else {
		m.install(now, out)
	}
	if m.deciding {
		m.attend(now, out)
	}
}

// takeEnds ends a member's released requests that the table already has: an inherited one knows them, and in mode any
// the reports are requested nevertheless.
func (m *Machine) takeEnds(now protocol.Time, p *peer, released []Ended, out *protocol.Effects) {
	ended := map[Ended]bool{}
	var sessions []lock.SessionID
	for _, e := range released {
		if p.owns(e) {
			ended[e] = true
			sessions = append(sessions, e.Session)
		}
	}
	slices.SortFunc(sessions, func(a, b lock.SessionID) int { return cmp.Compare(a.Number, b.Number) })
	for _, session := range slices.Compact(sessions) {
		names := map[uint64]string{}
		var seqs []uint64
		m.authority.table.Requests(session, func(seq uint64, name string, _ holdfast.Token) {
			if ended[Ended{session, seq}] {
				names[seq] = name
				seqs = append(seqs, seq)
			}
		})
		for _, seq := range seqs {
			last := m.authority.furthestLent(names[seq], seqKey{p.id, seq}) // how far it has counted is not reported
			m.onRelease(now, p, Released{Ended{session, seq}, last}, names[seq], out)
		}
	}
}

// takeEntry adds a member's hold to the table, and keeps its waits for later.
func (m *Machine) takeEntry(now protocol.Time, p *peer, s *lock.Entry, out *protocol.Effects) {
	if !p.owns(Ended{s.Session, s.Request}) {
		out.Note(Ignored{What: fmt.Sprintf("report of %v %s by member %d: not its own", s.Session, number(s.Request), p.id)})
		return
	}
	if err := malformed(s); err != nil {
		out.Note(Ignored{What: fmt.Sprintf("report of %v %s by member %d: %v", s.Session, number(s.Request), p.id, err)})
		return
	}
	left := protocol.Never
	if s.Left != lock.Never {
		left = lock.After(now, max(0, s.Left))
	}
	if s.Token == 0 {
		m.authority.pending = append(m.authority.pending, pending{arrived: now - max(0, s.Age), rank: p.rank, entry: *s, left: left})
		return
	}
	end := protocol.Never
	if s.Left != lock.Never {
		end = lock.After(now, lock.Stretch(max(0, s.Left), m.config.Table.Drift))
	}
	m.adopt(now, p.id, s, end, out)
}

// install completes the table when every member has reported: it adds this member's own clients' holds, and queues all
// waits by age. From then on the table is the only record of this member's clients.
func (m *Machine) install(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	if m.deciding || !c.complete() {
		return
	}
	rank := m.rank(lock.SessionID{Member: uint64(m.self)})
	var records []*record
	for r := m.holder.all.first; r != nil; r = r.links[ofAll].next {
		records = append(records, r)
	}
	m.decide()
	for _, r := range records {
		switch {
		case r.state == held:
			m.adoptOwn(now, r, out)
		case r.waits():
			s := m.entry(now, r)
			s.Request = r.request.ID
			c.pending = append(c.pending, pending{arrived: r.request.Arrived, rank: rank, entry: s, left: r.request.WaitEnd})
		}
	}
	changes := m.clearRecords(records, out)
	m.queuePending(now, out)
	m.changeAll(now, changes, out)
	if m.config.Outlives {
		m.turnOperations(now, out)
	}
}

// adoptOwn adds a hold of this member's own client to the table.
func (m *Machine) adoptOwn(now protocol.Time, r *record, out *protocol.Effects) {
	s := m.entry(now, r)
	s.Session, s.Request = r.request.Session, r.request.ID
	m.adopt(now, m.self, &s, r.end, out)
	m.authority.limits = m.authority.limits.with(r)
}

// clearRecords ends the records, which are in the table now, and answers the calls that waited for a release: it is
// accepted. It returns the changes that are still to be executed.
func (m *Machine) clearRecords(records []*record, out *protocol.Effects) (changes []pendingChange) {
	h := &m.holder
	for _, r := range records {
		changes = append(changes, h.takeChanges(r)...)
		m.drop(r, out)
	}
	h.reminders = protocol.Reminders[seqKey]{}
	return changes
}

// patient returns until when a request waits at a table that is about to decide. If an authority had to be found first,
// a request that does not wait still has its answer from the table, if that decides in this step.
func (m *Machine) patient(now, end protocol.Time) protocol.Time {
	if !m.config.Outlives {
		return end
	}
	return max(end, now+1)
}

// queuePending queues the waits by age, as measured by each one's own member; ties by seniority, then by request.
func (m *Machine) queuePending(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	var waits, later []pending
	for _, w := range c.pending {
		if p := c.peer(protocol.ID(w.entry.Session.Member)); p != nil && !p.reported {
			later = append(later, w)
			continue
		}
		waits = append(waits, w)
	}
	c.pending = later
	slices.SortStableFunc(waits, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.arrived, b.arrived), cmp.Compare(a.rank, b.rank), cmp.Compare(a.entry.Request, b.entry.Request))
	})
	for i := range waits {
		r := requestOf(now, &waits[i].entry)
		r.Arrived, r.WaitEnd = waits[i].arrived, m.patient(now, waits[i].left)
		queued := len(m.scratch)
		c.table.Acquire(now, r, &m.scratch)
		// Its client knows already that it is queued.
		if n := len(m.scratch); n == queued+1 && m.scratch[queued].Kind == lock.Queued {
			m.scratch = m.scratch[:queued]
			m.recallName(now, r.Name, out)
		}
	}
	m.publish(now, seqKey{}, out)
}
