package authority

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Follow processes the newest view, and the reign under it. An unchanged reign continues; under another one, and after
// a halt, every member starts over: the holders report the holds and waits, and no table outlives its reign.
func (m *Machine) Follow(now protocol.Time, view *protocol.View, reign Reign, out *protocol.Effects) {
	m.endCarried(now, out)
	before := m.view
	if before != nil && view.Epoch.Counter < before.Epoch.Counter {
		panic(fmt.Sprintf("authority: epoch went back from %d to %d", before.Epoch.Counter, view.Epoch.Counter))
	}
	epoch, away := before == nil || view.Epoch != before.Epoch, !m.admitted()
	same := before != nil && reign.Authority == m.reign.Authority && reign.Version == m.reign.Version &&
		(m.config.Outlives || !m.halted && !epoch)
	if !same || epoch {
		m.holder.letAllGo()
	}
	if !same {
		m.cease(now)
		m.beginReign(reign)
	}
	if epoch || !m.config.Outlives && !same {
		m.unconfirm()
	}
	if m.doubts(view) {
		m.holder.doubt = view.Number
	}
	m.view, m.lease, m.reign, m.halted = view, view.Lease, reign, false
	m.lost.Take(before, view)
	if m.lease.Tenure.Lapses != m.holder.lapses {
		m.holderLapsed(now, m.lease.Tenure, out)
	}
	for r := m.holder.all.first; !same && r != nil; r = r.links[ofAll].next {
		m.remind(r) // waits end as without a member in charge
	}
	if m.decides() {
		if m.authority == nil {
			m.become(now, out)
		}
		m.authority.epoch = view.Epoch
		m.authorityView(now, out)
	}
	m.forgetGone(now, out)
	switch {
	case !same:
		m.turnOperations(now, out)
	case away:
		m.sendWaiting(now, out)
	}
	m.confirm(out)
	m.keptInfoRequest(now, out)
	switch {
	case !m.config.Outlives:
	case !same || epoch || away:
		if !same && m.holder.doubt != 0 && m.holder.unconfirmed == 0 {
			m.holder.revalidateDue = now + m.config.Patience // as a rule the next authority asks for a report first
		} else {
			m.revalidate(now, out)
		}
		m.speakUp(now, away && !m.halts(before), out)
	case m.holder.doubt != 0:
		m.revalidate(now, out)
	}
}

// doubts reports whether a member has left the view while clients wait here, or may have come and gone in a view that
// this member has not seen. It may have been the one that was to decide: the authority that this member follows may
// have been deposed for it, without a message to any holder, and a client that waits asks nothing by itself. The doubt
// lasts until it is answered: an authority that this member later follows may also have been deposed.
func (m *Machine) doubts(view *protocol.View) bool {
	if !m.config.Outlives || m.view == nil || m.deciding || len(m.holder.records) == m.holder.held+m.holder.unused {
		return false
	}
	return view.Number > m.view.Number+1 || slices.ContainsFunc(m.view.Members, func(before protocol.Member) bool {
		member, listed := view.Of(before.ID)
		return !listed || member.Tenure != before.Tenure
	})
}

// halts reports whether a view is one under which this member was, until it was halted.
func (m *Machine) halts(before *protocol.View) bool {
	if before == nil {
		return false
	}
	member, listed := before.Of(m.self)
	return listed && member.Tenure == m.lease.Tenure
}

// speakUp repeats to an authority that is new here, or under a new epoch, what it must know: everything except waits in
// a queue, which every authority learns from the previous one or from reports. An authority that has seen this member
// leave has also forgotten its waits.
func (m *Machine) speakUp(now protocol.Time, left bool, out *protocol.Effects) {
	if m.holder.stage == reporting {
		m.repeatReport(now, out) // while it was halted it did not hear that its report is known
	}
	var records []*record
	for r := m.holder.all.first; r != nil; r = r.links[ofAll].next {
		if left && r.state == queued {
			r.state, r.position = requested, unknownPosition
		}
		if r.state == requested || r.state == ending || r.changes() {
			records = append(records, r)
		}
	}
	for _, r := range records {
		r.pause = 0
		m.send(now, r, out)
		m.remind(r)
	}
}

// decides reports whether this member, in its present tenure, is the authority.
func (m *Machine) decides() bool {
	return m.admitted() && m.reign.Authority == m.self
}

// admitted reports whether the newest view has this member in its present tenure, and
// its authority is one still as far as is known here.
func (m *Machine) admitted() bool {
	if m.view == nil || m.halted {
		return false
	}
	member, ok := m.view.Of(m.self)
	return ok && member.Tenure == m.lease.Tenure
}

// Halt stops granting, and requests: the next authority learns the holds and waits from reports. Holders continue.
func (m *Machine) Halt(now protocol.Time, out *protocol.Effects) {
	m.endCarried(now, out)
	m.halted = true
	if m.config.Outlives {
		m.pause()
		return
	}
	m.cease(now)
	m.holder.stage = silent
	m.calls.End(now, out)
}

// pause stops granting as long as the machine is halted, or frozen. The table stays.
func (m *Machine) pause() {
	if c := m.authority; c != nil && !c.paused {
		c.paused = true
		c.table.Pause()
	}
}

// Lapse ends everything that the expired lease no longer covers: every hold is lost, because of its member. Waiting
// requests are repeated under the next tenure, with other numbers: grants of the old ones are void, and freed with the
// old tenure. Package session ends the clients' sessions itself.
func (m *Machine) Lapse(now protocol.Time, next protocol.Tenure, out *protocol.Effects) {
	m.endCarried(now, out)
	m.cease(now)
	m.calls.End(now, out)
	m.holderLapsed(now, next, out)
}

// become begins this member's reign: it asks all others for their holds and waits, and grants nothing yet.
func (m *Machine) become(now protocol.Time, out *protocol.Effects) {
	table, err := lock.New(m.tableConfig())
	if err != nil {
		panic(fmt.Sprintf("authority: a table that New has made before: %v", err))
	}
	reign, count := m.reign.Number, m.reign.Count
	if m.holder.reign == reign {
		count = max(count, m.holder.counted)
	}
	if protocol.Mutated("token counter in memory") {
		reign, count = 1, m.holder.counted
	}
	table.BeginReign(reign, count)
	table.Pause()
	m.authority = newAuthority(table, m.reign.Version)
	m.beginGrantCount()
	m.authority.requestedAt = now
	if len(m.view.Members) > 1 && !m.reign.Settled {
		out.Note(Reconciling{Reign: m.reign.Number, Members: len(m.view.Members)})
	}
}

// cease ends the role: the table is dropped, except this member's own clients' entries. Those become records, to be
// reported to the next authority.
func (m *Machine) cease(now protocol.Time) {
	c := m.authority
	if c == nil {
		return
	}
	m.authority = nil
	if !m.deciding {
		return
	}
	m.deciding = false
	m.holder.reign, m.holder.counted = c.table.Reign(), c.table.Count()
	m.keepOwn(now, c.copyEntries(now))
	m.holder.keepLimits(c.limits)
	m.holder.keepChanges(now, c.changes)
	m.keepVisits(c.visits)
}

// copyEntries copies the table, in the order in which it can be restored.
func (c *authority) copyEntries(now protocol.Time) (entries []lock.Entry) {
	entries = make([]lock.Entry, 0, c.table.Holds()+c.table.Waiters())
	for cursor := uint64(0); ; {
		chunk := c.table.Snapshot(now, cursor, maxChunk)
		entries = append(entries, chunk.Entries...)
		if cursor = chunk.Next; cursor == 0 {
			return entries
		}
	}
}

// keepOwn makes records of this member's own clients' entries of its table, and gives those entries the numbers of
// their requests.
func (m *Machine) keepOwn(now protocol.Time, entries []lock.Entry) {
	var own []*lock.Entry
	for i := range entries {
		if protocol.ID(entries[i].Session.Member) == m.self {
			own = append(own, &entries[i])
		}
	}
	slices.SortStableFunc(own, func(a, b *lock.Entry) int {
		return cmp.Or(
			cmp.Compare(b.Age, a.Age),
			cmp.Compare(a.Session.Number, b.Session.Number),
			cmp.Compare(a.Request, b.Request),
		)
	})
	for _, s := range own {
		s.Request = m.holderRestore(now, s)
	}
}

// Reconciling notes that an authority has started to ask for holds and waits.
type Reconciling struct {
	Reign   uint64
	Members int
}

func (n Reconciling) String() string {
	return fmt.Sprintf("reconciling reign %d with %d members", n.Reign, n.Members)
}
