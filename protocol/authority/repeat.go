package authority

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stage is how far a holder is with the authority of the newest view.
type stage uint8

const (
	silent    stage = iota // no report requested yet: no request is sent
	reporting              // requested; the report is in flight
	known                  // all that was reported is known there: requests are sent
)

// maxAfter is the maximum number of releases that a request may have to come after. With one more, the request waits
// until some of them are acknowledged.
const maxAfter = 64

// maxAcks is the maximum number of acknowledgements that wait for a message to ride on.
const maxAcks = 256

// speaks reports whether requests are sent: there is an authority elsewhere, and it knows this holder's whole report.
func (m *Machine) speaks() bool {
	return m.holder.stage == known && m.reign.Authority != 0 && m.admitted()
}

// seeks reports whether this member looks for an authority, because something here needs one: the protocol finds one,
// or makes this member it, without a change of the view.
func (m *Machine) seeks() bool {
	return m.config.Outlives && m.reign.Authority == 0 && m.admitted()
}

// ackDelay is how long acknowledgements wait for a message to ride on.
func (m *Machine) ackDelay() time.Duration { return max(1, m.config.Patience/5) }

// stamp begins a message to the authority, with the acknowledgements that wait.
func (m *Machine) stamp() Stamp {
	h := &m.holder
	acks := h.acks
	h.acks, h.acksDue = nil, protocol.Never
	return Stamp{Epoch: m.view.Epoch, Version: m.reign.Version, Tenure: m.lease.Tenure, Acks: acks}
}

// toAuthority sends a message to the authority.
func (m *Machine) toAuthority(msg protocol.Message, out *protocol.Effects) {
	out.Send(m.reign.Authority, msg)
}

// ack remembers that a decision has been heard.
func (m *Machine) ack(now protocol.Time, id uint64, out *protocol.Effects) {
	h := &m.holder
	h.acks = append(h.acks, id)
	h.acksDue = min(h.acksDue, now+m.ackDelay())
	if len(h.acks) >= maxAcks {
		m.toAuthority(Acks{Stamp: m.stamp()}, out)
	}
}

// send sends a record's message, if there is a receiver, and sets the time of its repetition.
func (m *Machine) send(now protocol.Time, r *record, out *protocol.Effects) {
	r.due = protocol.Never
	if !m.speaks() {
		return
	}
	switch {
	case r.state == requested && now >= m.lease.Member:
		// The member could not accept a grant, and would block all others: a newly admitted member has no lease yet,
		// and one whose disk is full gets none.
		r.due = now + m.config.Patience
		return
	case r.state == requested:
		after, ok := m.endingBefore(r)
		if ok {
			if r.first == 0 || !r.sent {
				r.first = now
			}
			r.sent = true
			m.toAuthority(Acquire{Stamp: m.stamp(), Entry: m.entry(now, r), After: after, Low: m.holder.low()}, out)
		}
	case r.state == ending && r.sessionEnd:
		m.toAuthority(EndSession{Stamp: m.stamp(), Ended: r.ended(), Why: r.why}, out)
	case r.state == ending:
		m.toAuthority(Release{Stamp: m.stamp(), Ended: r.ended(), Name: r.request.Name, Last: r.last(), Awaited: r.haste}, out)
		if protocol.Mutated("unlock told once") {
			m.drop(r, out)
			return
		}
	case r.changes():
		m.sendChanges(r, out)
	default:
		return
	}
	m.expect(now)
	r.pause = protocol.Longer(r.pause, m.config.Patience)
	r.due = now + r.pause
}

// sendChanges sends the changes of a held grant that no authority has answered.
func (m *Machine) sendChanges(r *record, out *protocol.Effects) {
	if r.extension != nil {
		m.toAuthority(Extend{
			Stamp: m.stamp(), Ended: r.ended(), Name: r.request.Name, Token: r.token,
			Hold: r.extension.hold, Number: r.extension.number,
		}, out)
	}
	if r.amendment != nil {
		m.sendAmendment(r, out)
	}
}

func (m *Machine) sendAmendment(r *record, out *protocol.Effects) {
	m.toAuthority(Amend{
		Stamp: m.stamp(), Ended: r.ended(), Name: r.request.Name,
		Amendment: lock.Amendment{Revision: r.request.Revision, Value: r.request.Value},
	}, out)
}

// expect notes that an answer is waited for.
func (m *Machine) expect(now protocol.Time) { m.holder.unanswered = min(m.holder.unanswered, now) }

func (r *record) ended() Ended { return Ended{Session: r.grantee(), Seq: r.seq} }

// endingBefore returns the pending releases of the same name: they come first, even if the network reorders messages.
// It reports false if there are too many of them.
func (m *Machine) endingBefore(r *record) (after []Released, ok bool) {
	for other := m.holder.names[r.request.Name].first; other != nil; other = other.links[ofName].next {
		if other.state != ending {
			continue
		}
		if len(after) == maxAfter {
			return nil, false
		}
		after = append(after, Released{other.ended(), other.last()})
	}
	return after, true
}

// entry describes a record to an authority. Its times are durations, measured here.
func (m *Machine) entry(now protocol.Time, r *record) lock.Entry {
	q := &r.request
	s := lock.Entry{
		Name: q.Name, Session: r.grantee(), Request: r.seq, Attributes: q.Attributes, Client: q.Client, Left: lock.Never,
	}
	if r.state == held {
		if protocol.Mutated("a report has the values") {
			s.Value, s.Revision = "", 0
		}
		s.Token, s.Revoked, s.Age, s.Hold = r.token, r.revoked, now-r.since, 0
		if r.end != protocol.Never {
			s.Left = max(0, r.end-now)
		}
		return s
	}
	s.Age, s.Try = max(0, now-q.Arrived), q.Try
	if q.WaitEnd != protocol.Never {
		s.Left = max(0, q.WaitEnd-now)
	}
	return s
}

// waitOver returns when a waiting request has waited long enough. While the authority answers, its own answer comes
// first, because it says more; but a wait limit is a promise, and is not exceeded by more than lock.WaitGrace. Even a
// request that does not wait waits for a question and its answer; and before that for the one about the authority's
// identity, if it is unknown.
func (m *Machine) waitOver(r *record) protocol.Time {
	end := r.request.WaitEnd
	if !r.waits() || end == protocol.Never {
		return protocol.Never
	}
	switch {
	case !m.seeks() && !m.speaks():
		return end
	case !r.request.Try, r.state == queued:
		return lock.After(end, min(m.config.Patience, lock.WaitGrace))
	case m.seeks():
		return max(end, lock.After(r.request.Arrived, 4*m.config.Patience))
	}
	return max(end, lock.After(r.first, 4*m.config.Patience))
}

// remind sets when to look at a record again.
func (m *Machine) remind(r *record) {
	at := min(r.due, m.waitOver(r))
	if r.state == held {
		at = min(at, r.end)
	}
	if at < r.at {
		r.at = at
		m.holder.reminders.Push(at, seqKey{seq: r.seq})
	}
}

// reminds reports whether a record waits for a reminder. A client that makes requests and gives them up, with wait
// limits of an hour, must not leave an hour's reminders behind.
func (h *holder) reminds(reminder protocol.Reminder[seqKey]) bool {
	r := h.records[reminder.Key.seq]
	return r != nil && r.at == reminder.At
}

// holderWake returns when the holder has something to do.
func (m *Machine) holderWake() protocol.Time {
	h := &m.holder
	at := min(h.reminders.First(), h.acksDue, h.report.due, h.revalidateDue)
	if h.unconfirmed > 0 && !protocol.Mutated("unconfirmed grants renewed") {
		at = min(at, m.lease.Carried)
	}
	return min(at, m.calls.Wake())
}

// holderTick does the work that is due.
func (m *Machine) holderTick(now protocol.Time, out *protocol.Effects) {
	h := &m.holder
	for h.reminders.First() <= now {
		reminded := h.reminders.Pop()
		r := h.records[reminded.Key.seq]
		if r == nil || r.at != reminded.At {
			continue
		}
		r.at = protocol.Never
		m.look(now, r, out)
	}
	if h.report.due <= now {
		m.repeatReport(now, out)
	}
	if h.acksDue <= now {
		h.acksDue = protocol.Never
		if m.speaks() {
			m.toAuthority(Acks{Stamp: m.stamp()}, out)
		}
	}
	if h.revalidateDue <= now {
		m.revalidate(now, out)
	}
	m.calls.Tick(now, out)
}

// look does a record's due work.
func (m *Machine) look(now protocol.Time, r *record, out *protocol.Effects) {
	switch {
	case m.waitOver(r) <= now:
		var err error = &lock.HeldBy{}
		if r.state != queued || !m.speaks() {
			err = m.unavailable(now)
		}
		m.notifyRefused(now, r, err, out)
		m.endRecord(now, r, out)
		return
	case r.state == held && r.end <= now:
		// Every client's clock has counted the limit out. The authority may wait longer, so
		// it needs the message.
		m.notifyLoss(r, lock.Lost, holdfast.HoldLimit, out)
		m.endRecord(now, r, out)
		return
	case r.state == kept && r.due <= now:
		m.giveBack(now, r, out) // it is not hot any more
		return
	case r.due <= now:
		m.send(now, r, out)
	}
	m.remind(r)
}

// endCarried notifies clients to stop whose holds were granted under earlier epochs and confirmed by no authority of
// the newest one, as soon as the lease under which they were granted has ended (V13). The authority may know such a
// hold, though its decision was lost, and would grant the name at once if it were released; and the client may believe
// for the horizon beyond its member's lease. The hold is therefore released when the client has stopped.
func (m *Machine) endCarried(now protocol.Time, out *protocol.Effects) {
	h := &m.holder
	if h.unconfirmed == 0 || now < m.lease.Carried || protocol.Mutated("unconfirmed grants renewed") {
		return
	}
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		if r.state != held || r.confirmed {
			continue
		}
		r.confirmed = true
		h.unconfirmed--
		if r.revoked {
			continue
		}
		m.refuseChanges(r, holdfast.AuthorityChanged, out)
		r.revoked, r.loss = true, holdfast.AuthorityChanged
		m.notifyLoss(r, lock.Revoked, r.loss, out)
	}
	m.confirm(out)
}

// seqKey identifies a request among those of all members; at a holder, where all are its own, without the member.
type seqKey struct {
	member protocol.ID
	seq    uint64
}

// Before orders by member and then by request.
func (k seqKey) Before(other seqKey) bool {
	if k.member != other.member {
		return k.member < other.member
	}
	return k.seq < other.seq
}
