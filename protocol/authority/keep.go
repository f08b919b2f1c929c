package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Holding on (Rules.HoldOn): a member keeps an exclusive grant that its client has released, and gives it to its next
// client that requests it, until the authority recalls it. This is the holder's side; the authority's is in loan.go.

// origin is the authority's knowledge of a grant that its member has kept: the session it was given to, and the token.
// Its request is the record's.
type origin struct {
	session lock.SessionID
	token   holdfast.Token
}

// maxKept is the maximum number of unused grants that a member keeps in one space: its clients' hot names. With one
// more, the least recently used one is returned.
const maxKept = 1024

// maxUses is the maximum number of tokens that a member gives by itself under one grant. When they are used up it
// returns the grant. That many are skipped if a member is lost that may have kept a grant, because no other member
// knows its count.
const maxUses = 1 << 20

// grantee returns the session that the record's grant was given to, as an authority knows
// it.
func (r *record) grantee() lock.SessionID {
	if r.origin != nil {
		return r.origin.session
	}
	return r.request.Session
}

// last returns the highest token given here under the record's grant; 0 if that is the grant's own.
func (r *record) last() holdfast.Token {
	if r.origin == nil || r.token == r.origin.token {
		return 0
	}
	return r.token
}

// spent reports whether no further token may be given here under the record's grant.
func (r *record) spent() bool {
	return uint32(r.token) >= lock.MaxCount || r.origin != nil && r.token-r.origin.token >= maxUses
}

// lends reports whether this member may give a kept grant to a client: it follows an authority, under an unexpired
// lease, and has promised no candidate to follow another.
func (m *Machine) lends(now protocol.Time) bool {
	return m.config.HoldOn > 0 && m.speaks() && !m.instance.Closed() && now < m.lease.Member && m.view.Epoch.Counter >= m.lease.Promised
}

// Unused returns how many of this member's kept grants no client uses.
func (m *Machine) Unused() int { return m.holder.unused }

// KeepsOn reports whether this member may keep the grant that a decision of an authority is about,
// and whether it keeps it already, unused.
func (m *Machine) KeepsOn(d *Decided) (may, unused bool) {
	r := m.holder.records[d.Seq]
	if r == nil || r.request.Name != d.Name || r.grantee() != d.Session {
		return false, false
	}
	return r.state == kept || r.state == held && r.keep, r.state == kept
}

// keeps reports whether a grant that its client releases is kept: the authority has allowed
// it, and no request is known to wait for the name.
func (m *Machine) keeps(now protocol.Time, r *record) bool {
	if !r.keep || r.revoked || !r.confirmed || r.changes() || r.request.Value != "" || r.spent() || !m.lends(now) {
		return false
	}
	for other := m.holder.names[r.request.Name].first; other != nil; other = other.links[ofName].next {
		if other.waits() {
			return false
		}
	}
	return true
}

// keep keeps a grant that a client releases, without informing another member.
func (m *Machine) keep(now protocol.Time, call protocol.CallID, r *record, out *protocol.Effects) {
	h := &m.holder
	d := r.decision(lock.Released)
	out.Decide(call, &d)
	h.settleHold(r)
	h.leaveClient(r)
	if r.origin == nil {
		r.origin = &origin{r.request.Session, r.token}
		h.origins[r.origin.session]++
	}
	r.state, r.end, r.due = kept, protocol.Never, now+m.config.HoldOn
	h.idle.link(ofSession, r)
	h.unused++
	m.remind(r)
	if h.unused > maxKept {
		m.giveBack(now, h.idle.first, out)
	}
}

// lend gives a client a kept grant, under a separate token, and reports whether it has. A grant that does not suit the
// request is returned: the authority then has to decide. The table decides about reentry and suspensions, so a named
// owner is never lent anything; and it shows the value of the grant, so a request with a value is not, either.
func (m *Machine) lend(now protocol.Time, call protocol.CallID, q *lock.Request, out *protocol.Effects) bool {
	names := m.holder.names[q.Name]
	if names == nil {
		return false
	}
	r := names.last
	for r != nil && r.state != kept {
		r = r.links[ofName].prev
	}
	switch {
	case r == nil:
		return false
	case q.Owner != "" || q.Value != "" || q.Mode != holdfast.ModeExclusive || r.spent() || !m.lends(now):
		m.giveBack(now, r, out)
		return false
	case q.Hold > 0 && now >= lock.After(q.Arrived, q.Hold):
		out.Decide(call, &lock.Decision{
			Kind: lock.Refused, Session: q.Session, Request: q.ID, Name: q.Name, Shape: holdfast.Shape{Mode: q.Mode}, Waited: now - q.Arrived, Err: holdfast.HoldLimit,
		})
		return true // it has ended on its way
	}
	h := &m.holder
	h.idle.unlink(ofSession, r)
	h.unused--
	r.request, r.due, r.state = *q, protocol.Never, requested
	h.enterClient(r)
	end := protocol.Never
	if q.Hold > 0 {
		end = lock.After(q.Arrived, lock.Stretch(q.Hold, m.config.Table.Drift))
	}
	h.take(r, r.token+1, now, end)
	d := r.decision(lock.Granted)
	d.Waited, d.Hold = max(0, now-q.Arrived), q.Hold
	out.Decide(call, &d)
	m.remind(r)
	return true
}

// giveBack releases a grant that is kept.
func (m *Machine) giveBack(now protocol.Time, r *record, out *protocol.Effects) {
	m.holder.letGo(r)
	m.send(now, r, out)
	m.remind(r)
}

// letGo marks a kept grant as unwanted by any client here.
func (h *holder) letGo(r *record) {
	h.idle.unlink(ofSession, r)
	h.unused--
	r.state, r.pause, r.due = ending, 0, protocol.Never
}

// letAllGo does so with all kept grants, and keeps none of the held ones later: another authority, or one under another
// epoch, receives reports of the holds here, and of the released rest.
func (h *holder) letAllGo() {
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		r.keep = false
	}
	for h.idle.first != nil {
		h.letGo(h.idle.first)
	}
}

// giveWay handles the recall of a kept grant. An unused grant is returned, which is the answer; if the grant is in use
// the authority is informed at once, because a client may wait for exactly that.
func (m *Machine) giveWay(r *record, out *protocol.Effects) {
	if !r.keep {
		return
	}
	r.keep = false
	m.toAuthority(Acks{Stamp: m.stamp()}, out)
}

// decidedKept handles an authority's decision about a kept grant.
func (m *Machine) decidedKept(now protocol.Time, r *record, msg *Decided, out *protocol.Effects) {
	switch {
	case msg.Kind == lock.Granted && msg.Keep:
		m.ack(now, msg.AckID, out)
	case msg.Kind == lock.Granted || msg.Kind == lock.Revoked:
		m.giveBack(now, r, out)
	case msg.Kind == lock.Lost:
		if msg.AckID != 0 {
			m.ack(now, msg.AckID, out)
		}
		m.drop(r, out)
	}
}

// extendLent sets the hold limit of a lent grant: the authority has none for it.
func (m *Machine) extendLent(now protocol.Time, call protocol.CallID, r *record, hold lock.Time, out *protocol.Effects) {
	r.end, r.limit = protocol.Never, protocol.Never
	if hold > 0 {
		r.end = lock.After(now, lock.Stretch(hold, m.config.Table.Drift))
	}
	m.remind(r)
	out.Decide(call, &lock.Decision{
		Kind: lock.Granted, Session: r.request.Session, Request: r.request.ID, Name: r.request.Name, Token: r.token, Hold: hold,
	})
}
