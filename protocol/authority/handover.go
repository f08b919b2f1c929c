package authority

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Handover is the state that an authority passes to the next one, which continues as it would have: the holders, the
// waiters in order, the count of tokens, and the unacknowledged decisions. Times in it are durations.
type Handover struct {
	Reign uint64
	Count uint32
	// Epoch and View are those of the view under which it was made. A member with an older view would mistake newly
	// arrived members for departed ones.
	Epoch, View uint64
	// Entries are those of the table, in the order in which it is restored. All have the
	// numbers of their requests.
	Entries []lock.Entry
	// Unacked have no stamp yet, and are in the order in which they were first sent.
	Unacked []Decided
}

// Serves reports whether this member is the authority and has granted in its reign, or
// could have: then its table has all that is held and waited for.
func (m *Machine) Serves() bool { return m.authority != nil && m.authority.served }

// Decides reports whether this member is the authority and has all reports.
func (m *Machine) Decides() bool { return m.deciding }

// Relinquish ends this member's reign and returns its state; it must serve. Its own clients' entries become records.
// The caller begins the next reign, in the same step.
func (m *Machine) Relinquish(now protocol.Time) *Handover {
	c := m.authority
	if !m.Serves() {
		panic("authority: a reign is left that has not served")
	}
	handover := &Handover{
		Reign: c.table.Reign(), Count: c.table.Count(), Epoch: m.view.Epoch.Counter, View: m.view.Number, Entries: c.copyEntries(now),
	}
	//tidy:unordered they are put in order
	for _, w := range c.unacked {
		handover.Unacked = append(handover.Unacked, w.message)
	}
	slices.SortFunc(handover.Unacked, func(a, b Decided) int { return cmp.Compare(a.AckID, b.AckID) })
	m.authority, m.deciding = nil, false
	m.keepOwn(now, handover.Entries)
	m.keepVisits(c.visits)
	return handover
}

// Inherit makes this member the authority of a reign that continues with a handover. No member is asked for a report,
// except in mode any, where sides of a partition meet: the previous authority may have handed over before it had the
// reports of the other side. This member's own clients' holds that the table lacks are then added, as from a report.
// Inherit reports false, with a note, if the handover is impossible: then nothing has changed.
func (m *Machine) Inherit(now protocol.Time, reign Reign, handover *Handover, out *protocol.Effects) bool {
	m.holder.letAllGo()
	own, entries := m.claim(now, handover)
	table, err := m.restore(now, handover, entries)
	if err != nil {
		out.Note(Ignored{What: fmt.Sprintf("handover of reign %d: %v", handover.Reign, err)})
		return false
	}
	m.beginReign(reign)
	m.reign = reign
	c := newAuthority(table, reign.Version)
	c.epoch, c.served = m.view.Epoch, true
	m.authority = c
	m.decide()
	m.beginGrantCount()
	m.enroll(entries)
	m.adoptUnacked(now, handover.Unacked)
	m.takePeers(now, out) // those whose clients have to go are notified
	m.settleOwn(now, own, handover.Unacked, out)
	m.inheritLoans(entries)
	m.authorityView(now, out)
	m.recallWanted(now, out)
	m.confirm(out)
	m.turnOperations(now, out)
	return true
}

// claim gives the entries of this member's own clients the ids of their requests, omits those that no client here wants
// any more, and returns the records that have an entry. It stretches hold limits by the drift: they were measured by
// another clock.
func (m *Machine) claim(now protocol.Time, handover *Handover) (own map[uint64]lock.Entry, entries []lock.Entry) {
	own = map[uint64]lock.Entry{}
	entries = make([]lock.Entry, 0, len(handover.Entries))
	for _, s := range handover.Entries {
		if s.Token != 0 && s.Left != lock.Never {
			s.Left = lock.Stretch(max(0, s.Left), m.config.Table.Drift)
		}
		switch {
		case protocol.ID(s.Session.Member) != m.self:
		case tenureOf(s.Session, s.Request) != m.lease.Tenure:
			// A former tenure of this member has it, and its clients may still believe so.
			s.Session.Member = uint64(formerSelf(m.self))
		default:
			r := m.holder.records[s.Request]
			if r != nil && uint64(r.last())>>32 == handover.Reign {
				handover.Count = max(handover.Count, uint32(r.last()))
			}
			if r == nil || r.state == ending || r.grantee() != s.Session || r.request.Name != s.Name {
				continue // its release is in flight, or follows when nothing is left to release
			}
			own[r.seq] = s
			if r.origin != nil {
				s = m.entry(now, r) // another client has it now
			}
			s.Session, s.Request = r.request.Session, r.request.ID
		}
		entries = append(entries, s)
	}
	return own, entries
}

// formerSelf is the id of this member in its earlier tenures, treated as a departed member with holds that are freed in
// time. It is no member's id: ids are random, and an id that is not drawn twice is not drawn as another one's
// complement either.
func formerSelf(self protocol.ID) protocol.ID { return ^self }

// restore makes a table of a handover's entries.
func (m *Machine) restore(now protocol.Time, handover *Handover, entries []lock.Entry) (*lock.Table, error) {
	table, err := lock.New(m.tableConfig())
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := malformed(&entries[i]); err != nil {
			return nil, err
		}
	}
	if err := table.Restore(now, lock.Chunk{Reign: handover.Reign, Count: handover.Count, Paused: true, Entries: entries}); err != nil {
		return nil, err
	}
	return table, nil
}

// enroll treats the members that have entries and no place in the view as departed.
func (m *Machine) enroll(entries []lock.Entry) {
	c := m.authority
	for i := range entries {
		s := &entries[i]
		id := protocol.ID(s.Session.Member)
		if id == m.self {
			continue
		}
		tenure := tenureOf(s.Session, s.Request)
		if member, ok := m.view.Of(id); ok && member.Tenure == tenure {
			continue
		}
		if !slices.ContainsFunc(c.departed, func(d departed) bool { return d.id == id && d.tenure == tenure }) {
			c.departed = append(c.departed, departed{id: id, tenure: tenure, reported: true})
		}
	}
}

// adoptUnacked continues to repeat the previous authority's unacknowledged decisions.
func (m *Machine) adoptUnacked(now protocol.Time, decisions []Decided) {
	for i := range decisions {
		msg := decisions[i]
		key := seqKey{protocol.ID(msg.Session.Member), msg.Seq}
		if key.member == m.self {
			continue
		}
		m.repeatUntilHeard(now, key, &msg)
	}
}

// settleOwn synchronizes this member's clients with the inherited table, which is their only record from now on. It
// reports decisions in flight, and repeats requests that the authority had not received.
func (m *Machine) settleOwn(now protocol.Time, own map[uint64]lock.Entry, decisions []Decided, out *protocol.Effects) {
	decided := map[uint64]*Decided{}
	for i := range decisions {
		if protocol.ID(decisions[i].Session.Member) == m.self {
			decided[decisions[i].Seq] = &decisions[i]
		}
	}
	var records []*record
	for r := m.holder.all.first; r != nil; r = r.links[ofAll].next {
		records = append(records, r)
	}
	var requests []*lock.Request
	for _, r := range records {
		s, listed := own[r.seq]
		switch {
		case r.state == ending:
		case listed && s.Token != 0 && r.waits():
			r.token, r.since = s.Token, now
			d := r.decision(lock.Granted)
			d.Waited, d.Hold = max(0, now-r.request.Arrived), r.request.Hold
			if w := decided[r.seq]; w != nil && w.Kind == lock.Granted && !protocol.Mutated("an heir keeps the limit that was given") {
				d.Hold = w.Hold // a request that enters a grant has the grant's limit, and not its own
			}
			out.Decide(protocol.CallID{}, &d)
		case listed:
		case r.waits() && decided[r.seq] == nil:
			request := r.request
			requests = append(requests, &request)
		case r.state == held && decided[r.seq] == nil && m.config.Any:
			m.adoptOwn(now, r, out) // of its side, whose report did not reach the authority before
		default:
			m.notifyMissing(now, r, decided[r.seq], out)
		}
		if w := decided[r.seq]; w != nil && w.Kind == lock.Revoked && listed && !r.revoked {
			r.revoked, r.loss = true, w.Loss
			m.notifyLoss(r, lock.Revoked, w.Loss, out)
		}
	}
	changes := m.clearRecords(records, out)
	for _, q := range requests {
		queued := len(m.scratch)
		q.WaitEnd = m.patient(now, q.WaitEnd)
		m.authority.table.Acquire(now, q, &m.scratch)
		if n := len(m.scratch); n == queued+1 && m.scratch[queued].Kind == lock.Queued {
			m.scratch = m.scratch[:queued] // its client knows that
		}
	}
	m.publish(now, seqKey{}, out)
	m.changeAll(now, changes, out)
}

// notifyMissing informs a client of the outcome of a request that no longer has an entry.
func (m *Machine) notifyMissing(now protocol.Time, r *record, decision *Decided, out *protocol.Effects) {
	switch {
	case r.waits() && decision.Err != nil:
		m.notifyRefused(now, r, decision.Err, out)
	case r.waits():
		m.notifyRefused(now, r, decision.Loss, out)
	case decision != nil && decision.Loss != "":
		m.notifyLoss(r, lock.Lost, decision.Loss, out)
	default:
		m.notifyLoss(r, lock.Lost, holdfast.AuthorityChanged, out)
	}
}

// Wants reports whether something here needs an authority: a request without an answer, an
// end that is not acknowledged, a hold that none has confirmed.
func (m *Machine) Wants() bool {
	h := &m.holder
	return m.authority == nil && (len(h.records) > h.held+h.unused || h.unconfirmed > 0 || h.changing > 0)
}

// HasQueries reports whether operators here wait for the authority's answer, and not for that of an
// earlier one.
func (m *Machine) HasQueries() bool {
	return slices.ContainsFunc(m.calls.Waiting(), func(o *operation) bool { return !m.doubted(o) })
}

// Exhausted reports whether this member is the authority, and its reign has no tokens left.
func (m *Machine) Exhausted() bool { return m.deciding && m.authority.table.Exhausted() }

// Reign returns the reign in which this member, the authority, counts tokens; 0 if it is not the authority.
func (m *Machine) Reign() uint64 {
	if m.authority == nil {
		return 0
	}
	return m.authority.table.Reign()
}

// Tables returns the table of this member, if it is the authority and grants. It must not be changed.
func (m *Machine) Tables(now protocol.Time) []probe.Table {
	if m.authority == nil || !m.deciding {
		return nil
	}
	return []probe.Table{{Table: m.authority.table, Now: now}}
}

// Count returns how many tokens this member, the authority, has given in its reign, including the initial count, and
// the tokens that members with kept grants may have given.
func (m *Machine) Count() uint32 {
	if m.authority == nil {
		return 0
	}
	return m.authority.advancePastLent()
}

// Freeze stops granting permanently: the end of this reign, and its count, are announced.
func (m *Machine) Freeze() {
	m.authority.frozen = true
	m.pause()
}

// Recount continues counting tokens in a higher reign. A lower or equal one has no effect.
func (m *Machine) Recount(now protocol.Time, reign uint64, count uint32, out *protocol.Effects) {
	if m.authority == nil || reign <= m.authority.table.Reign() {
		return
	}
	m.authority.table.BeginReign(reign, count)
	m.reign.Number, m.reign.Count = reign, count
	if m.deciding {
		m.attend(now, out)
	}
}

// AnswerUndecided answers operators if no member is the authority, because no client has anything.
func (m *Machine) AnswerUndecided(now protocol.Time, out *protocol.Effects) {
	for _, o := range m.calls.Waiting() {
		if !m.doubted(o) {
			m.calls.Here(now, o, out)
		}
	}
}
