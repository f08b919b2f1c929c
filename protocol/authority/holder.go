package authority

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// holder is the role that acts for this member's clients, as long as they are not in this member's own table: a record
// of each request.
type holder struct {
	records   map[uint64]*record // by request
	byKey     map[recordKey]*record
	names     map[string]*chain
	sessions  map[lock.SessionID]*presence
	spare     *presence // of a session that has nothing here any more, for the next one
	all       chain
	seqs      uint64   // numbers given
	lapses    uint64   // of the tenure that they are given in
	requested []uint64 // numbers of sent requests, in order, the first of which are unanswered
	reign     uint64   // the last one in which this member was the authority
	counted   uint32   // and the tokens that had been given in it

	stage           stage
	report          report
	kept            keptRequest
	acks            []uint64
	acksDue         protocol.Time
	held            int                    // records of holds
	idle            chain                  // kept grants, in order of last use; by the links of sessions
	unused          int                    // how many those are
	origins         map[lock.SessionID]int // number of records of which a session is the grantee and not the holder
	changing        int                    // changes of held grants that no authority has answered
	unanswered      protocol.Time          // since when the authority has not answered, though it was asked; or Never
	unconfirmed     int                    // holds that no authority of the newest epoch has confirmed
	doubt           uint64                 // the view since which the authority that this member follows may decide no more, for those that wait here; or 0
	revalidateDue   protocol.Time          // when to ask again whether it knows them
	revalidatePause protocol.Time
	confirmed       protocol.Epoch  // the epoch for which Confirmed was raised
	tenure          protocol.Tenure // and the tenure
	reminders       protocol.Reminders[seqKey]

	extensions uint64 // numbers given
}

func newHolder() holder {
	return holder{
		records:       map[uint64]*record{},
		byKey:         map[recordKey]*record{},
		names:         map[string]*chain{},
		sessions:      map[lock.SessionID]*presence{},
		origins:       map[lock.SessionID]int{},
		acksDue:       protocol.Never,
		revalidateDue: protocol.Never, unanswered: protocol.Never,
		report: report{due: protocol.Never},
	}
}

// unknownPosition is the position in a queue that no authority has reported yet.
const unknownPosition = -1

// holderCall handles a request of this member's clients while they are in no table here.
func (m *Machine) holderCall(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		m.holderAcquire(now, ev.Call, fact, out)
	case *protocol.Release:
		m.holderRelease(now, ev.Call, fact, out)
	case *protocol.Cancel:
		m.holderCancel(now, ev.Call, fact, out)
	case *protocol.Extend:
		m.holderExtend(now, ev.Call, fact, out)
	case *protocol.Amend:
		m.holderAmend(now, ev.Call, fact, out)
	case *protocol.EndSession:
		m.holderEndSession(now, fact, out)
	case *protocol.Revoke:
		m.revokeSession(now, fact.Session, fact.Why, fact.Refusal(), out)
	case *protocol.CountHolds:
		holds := 0
		if p := m.holder.sessions[fact.Session]; p != nil {
			holds = p.holds
		}
		out.Reply(ev.Call, &protocol.Holds{Count: holds})
	case *protocol.ListRequests:
		out.Reply(ev.Call, m.holder.requests(fact.Session))
	default:
		m.operate(now, ev, out)
	}
}

// requests returns a session's holds and waits.
func (h *holder) requests(s lock.SessionID) *protocol.Requests {
	list := &protocol.Requests{}
	if p := h.sessions[s]; p != nil {
		for r := p.first; r != nil; r = r.links[ofSession].next {
			if r.state != ending {
				list.List = append(list.List, protocol.RequestOf{ID: r.request.ID, Name: r.request.Name, Token: r.token})
			}
		}
	}
	slices.SortStableFunc(list.List, func(a, b protocol.RequestOf) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// holderAcquire answers Queued at once, with a position as soon as one is known: the outcome follows.
func (m *Machine) holderAcquire(now protocol.Time, call protocol.CallID, q *lock.Request, out *protocol.Effects) {
	h := &m.holder
	if r := h.byKey[recordKey{q.Session, q.ID, q.Name}]; r != nil && r.state != ending {
		m.holderRepeat(call, r, q, out)
		return
	}
	err := q.Check()
	if err == nil && protocol.ID(q.Session.Member) != m.self {
		err = fmt.Errorf("%w: session %v belongs to another member", holdfast.ErrConflict, q.Session)
	}
	if p := h.sessions[q.Session]; err == nil && p != nil && p.count >= m.config.Table.LocksPerSession {
		err = &holdfast.LimitError{Limit: "locks_per_session", Value: int64(m.config.Table.LocksPerSession)}
	}
	if err == nil && m.instance.Closed() {
		err = protocol.ErrClosed(m.view, m.self)
	}
	if err == nil && m.holder.unused > 0 && m.lend(now, call, q, out) {
		return
	}
	if err == nil && q.WaitEnd <= now && !m.speaks() && !m.seeks() {
		err = m.unavailable(now)
	}
	r := &record{state: requested, request: *q, position: unknownPosition, at: protocol.Never, due: protocol.Never, end: protocol.Never}
	if err != nil {
		d := r.decision(lock.Refused)
		d.Err = err
		out.Decide(call, &d)
		return
	}
	r.seq = h.nextSeq()
	h.enter(r)
	m.send(now, r, out)
	m.remind(r)
	d := r.decision(lock.Queued)
	out.Decide(call, &d)
}

// holderRepeat repeats the known state of a request.
func (m *Machine) holderRepeat(call protocol.CallID, r *record, q *lock.Request, out *protocol.Effects) {
	if r.waits() {
		d := r.decision(lock.Queued)
		out.Decide(call, &d)
		return
	}
	d := r.decision(lock.Granted)
	if r.end != protocol.Never {
		// The time left by this clock differs from that by the authority's, which counts as well.
		d.Hold = min(lock.Shrink(r.end-q.Arrived, m.config.Table.Drift), r.limit-q.Arrived)
		if d.Hold <= 0 {
			d.Kind, d.Hold, d.Err = lock.Refused, 0, holdfast.HoldLimit // the authority may have freed it
		}
	}
	out.Decide(call, &d)
	if r.revoked {
		m.notifyLoss(r, lock.Revoked, r.loss, out)
	}
}

// findHeld returns the record of a hold, or nil.
func (h *holder) findHeld(session lock.SessionID, name string, token holdfast.Token, request uint64) *record {
	if request != 0 {
		r := h.byKey[recordKey{session, request, name}]
		if r == nil || r.state != held || token != 0 && token != r.token {
			return nil
		}
		return r
	}
	names := h.names[name]
	if names == nil || token == 0 {
		return nil
	}
	for r := names.last; r != nil; r = r.links[ofName].prev {
		if r.state == held && r.token == token && r.request.Session == session {
			return r
		}
	}
	return nil
}

// holderRelease ends a hold here at once. It is answered when an authority has taken it.
func (m *Machine) holderRelease(now protocol.Time, call protocol.CallID, release *protocol.Release, out *protocol.Effects) {
	h := &m.holder
	r := h.findHeld(release.Session, release.Name, release.Token, release.Request)
	if r != nil && m.keeps(now, r) {
		m.keep(now, call, r, out)
		return
	}
	if r != nil {
		r.calls, r.haste = append(r.calls, call), release.Awaited
		if protocol.Mutated("release answered before it is taken") {
			r.calls = nil
			d := r.decision(lock.Released)
			out.Decide(call, &d)
		}
		m.endRecord(now, r, out)
		return
	}
	// Asked again while it is under way, it is answered with the first one.
	r = h.byKey[recordKey{release.Session, release.Request, release.Name}]
	if r != nil && r.state == ending && len(r.calls) > 0 && len(r.calls) < maxCalls && (release.Token == 0 || release.Token == r.token) {
		r.calls = append(r.calls, call)
		return
	}
	out.Decide(call, &lock.Decision{
		Kind: lock.Refused, Session: release.Session, Request: release.Request, Name: release.Name, Token: release.Token, Err: holdfast.ErrNotHeld,
	})
}

// maxCalls is the maximum number of calls that wait for one release.
const maxCalls = 16

// holderCancel ends a request permanently, and confirms it at once: a later grant is released.
func (m *Machine) holderCancel(now protocol.Time, call protocol.CallID, cancel *protocol.Cancel, out *protocol.Effects) {
	d := lock.Decision{Kind: lock.Released, Session: cancel.Session, Request: cancel.Request, Name: cancel.Name}
	r := m.holder.byKey[recordKey{cancel.Session, cancel.Request, cancel.Name}]
	if r != nil && r.state != ending {
		d = r.decision(lock.Released)
		if r.waits() && protocol.Mutated("cancelled wait sends no cancel") {
			m.drop(r, out)
		} else {
			m.endRecord(now, r, out)
		}
	}
	out.Decide(call, &d)
}

// holderExtend asks for another hold limit.
func (m *Machine) holderExtend(now protocol.Time, call protocol.CallID, extend *protocol.Extend, out *protocol.Effects) {
	h := &m.holder
	r := h.findHeld(extend.Session, extend.Name, extend.Token, extend.Request)
	var err error
	switch {
	case extend.Hold < 0:
		err = holdfast.ErrConflict
	case r == nil:
		err = holdfast.ErrNotHeld
	case r.revoked:
		err = r.loss
	case r.end <= now:
		err = holdfast.HoldLimit
	}
	if err != nil {
		out.Decide(call, &lock.Decision{
			Kind: lock.Refused, Session: extend.Session, Request: extend.Request, Name: extend.Name, Token: extend.Token, Hold: extend.Hold, Err: err,
		})
		return
	}
	if r.origin != nil {
		m.extendLent(now, call, r, extend.Hold, out)
		return
	}
	r.keep = false // the authority has a hold limit for it from here on
	m.refuseExtension(r, fmt.Errorf("%w: another extension has followed this one", holdfast.ErrConflict), out)
	h.extensions++
	h.changing++
	r.extension = &extension{number: h.extensions, hold: extend.Hold, sent: now, call: call}
	r.pause = 0
	m.send(now, r, out)
	m.remind(r)
}

// refuseExtension answers the extension that is under way, if one is.
func (m *Machine) refuseExtension(r *record, err error, out *protocol.Effects) {
	if r.extension == nil {
		return
	}
	d := lock.Decision{
		Kind: lock.Refused, Session: r.request.Session, Request: r.request.ID, Name: r.request.Name, Token: r.token, Hold: r.extension.hold, Err: err,
	}
	out.Decide(r.extension.call, &d)
	r.extension = nil
	m.holder.changing--
}

// holderEndSession ends a session's holds and waits, and confirms it at once: waits first, then holds, as in a table.
// One message ends it at the authority.
func (m *Machine) holderEndSession(now protocol.Time, end *protocol.EndSession, out *protocol.Effects) {
	p := m.holder.sessions[end.Session]
	if p == nil {
		return
	}
	var ended []*record
	// If another session uses a grant of this one, or the other way round, the authority must not end it as this
	// session's. A release that a call waits for is answered when the authority has accepted it.
	known, mixed := 0, m.holder.origins[end.Session] > 0
	for r := p.first; r != nil; r = r.links[ofSession].next {
		ended = append(ended, r)
		mixed = mixed || r.origin != nil || len(r.calls) > 0
		if r.sent {
			known++
		}
	}
	slices.SortStableFunc(ended, func(a, b *record) int {
		return cmp.Or(cmp.Compare(min(a.token, 1), min(b.token, 1)), cmp.Compare(a.request.ID, b.request.ID), cmp.Compare(a.request.Name, b.request.Name))
	})
	for _, r := range ended {
		if r.state != ending {
			m.notifyEnd(now, r, end.Why, out)
		}
	}
	if known == 1 || mixed {
		for _, r := range ended {
			if r.state != ending {
				m.endRecord(now, r, out)
			}
		}
		return
	}
	for _, r := range ended {
		m.drop(r, out)
	}
	if known > 0 {
		r := &record{seq: m.holder.nextSeq(), state: ending, sessionEnd: true, why: end.Why, sent: true, at: protocol.Never, due: protocol.Never, end: protocol.Never}
		r.request.Session = end.Session
		m.holder.enter(r)
		m.send(now, r, out)
		m.remind(r)
	}
}

// notifyEnd informs an ended session of what it no longer has.
func (m *Machine) notifyEnd(now protocol.Time, r *record, why holdfast.Loss, out *protocol.Effects) {
	switch {
	case why == "":
		d := r.decision(lock.Released)
		out.Decide(protocol.CallID{}, &d)
	case r.state == held:
		m.notifyLoss(r, lock.Lost, why, out)
	default:
		m.notifyRefused(now, r, why, out)
	}
}

func (m *Machine) notifyLoss(r *record, kind lock.Kind, why holdfast.Loss, out *protocol.Effects) {
	d := r.decision(kind)
	d.Loss = why
	out.Decide(protocol.CallID{}, &d)
}

func (m *Machine) notifyRefused(now protocol.Time, r *record, err error, out *protocol.Effects) {
	d := r.decision(lock.Refused)
	d.Waited, d.Err = max(0, now-r.request.Arrived), err
	out.Decide(protocol.CallID{}, &d)
}

// endRecord marks a record as unwanted by any client here. It is removed when an authority has confirmed that nothing
// is left of it, or at once if none knows it.
func (m *Machine) endRecord(now protocol.Time, r *record, out *protocol.Effects) {
	h := &m.holder
	m.refuseChanges(r, holdfast.ErrNotHeld, out)
	if !r.sent {
		m.drop(r, out)
		return
	}
	h.settleHold(r)
	h.leaveCount(r)
	r.state, r.pause, r.due = ending, 0, protocol.Never
	m.send(now, r, out)
	m.remind(r)
	m.confirm(out)
}

// drop removes a record of which nothing is left anywhere, and answers the waiting calls.
func (m *Machine) drop(r *record, out *protocol.Effects) {
	m.refuseChanges(r, holdfast.ErrNotHeld, out)
	m.holder.leave(r)
	for _, call := range r.calls {
		d := r.decision(lock.Released)
		out.Decide(call, &d)
	}
	r.calls = nil
	m.confirm(out)
}

// holderRestore makes a record of a client's entry in this member's own table, and returns its request.
func (m *Machine) holderRestore(now protocol.Time, s *lock.Entry) uint64 {
	h := &m.holder
	r := &record{
		seq: h.nextSeq(), state: queued, position: unknownPosition, sent: true,
		at: protocol.Never, due: protocol.Never, end: protocol.Never,
		request: lock.Request{
			Session: s.Session, ID: s.Request, Name: s.Name, Attributes: s.Attributes, Client: s.Client,
			Try:     s.Try,
			Arrived: now - s.Age, WaitEnd: protocol.Never,
		},
	}
	left := lock.Never
	if s.Left != lock.Never {
		left = lock.After(now, s.Left)
	}
	if s.Token == 0 {
		r.request.WaitEnd = left
	} else {
		r.state, r.token, r.since, r.end, r.limit, r.revoked, r.confirmed = held, s.Token, now-s.Age, left, protocol.Never, s.Revoked, true
		r.loss = holdfast.Broken // mostly; the table has not kept why
	}
	h.enter(r)
	m.remind(r)
	return r.seq
}

// holderLapsed ends every hold because of its member, and gives waiting requests the numbers of the next tenure.
func (m *Machine) holderLapsed(now protocol.Time, next protocol.Tenure, out *protocol.Effects) {
	h := &m.holder
	h.stage, h.report, h.acks, h.acksDue, h.revalidateDue = m.firstStage(m.reign), report{due: protocol.Never}, nil, protocol.Never, protocol.Never
	h.lapses = next.Lapses
	var records []*record
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		records = append(records, r)
	}
	for _, r := range records {
		switch r.state {
		case held:
			m.refuseChanges(r, holdfast.MemberLost, out)
			m.notifyLoss(r, lock.Lost, holdfast.MemberLost, out)
			m.drop(r, out)
		case kept, ending:
			m.drop(r, out)
		default:
			h.leave(r)
			r.seq, r.state, r.sent, r.position, r.at = h.nextSeq(), requested, false, unknownPosition, protocol.Never
			r.due, r.pause = protocol.Never, 0
			h.enter(r)
			m.remind(r)
		}
	}
}
