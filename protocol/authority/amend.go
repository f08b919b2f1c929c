package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Amendments of grants by their holders (lock.Amendment). All requests by which a grant is held are of one session, and
// so at one member. That member knows the latest revision: every record of the grant has it, and so has what is reported
// to the next authority, and no authority knows a later one. A holder waits for an answer only to know that others can
// read the value.

// eachMate visits the records of the grant that r holds, r included.
func (h *holder) eachMate(r *record, visit func(*record)) {
	for mate := h.names[r.request.Name].first; mate != nil; mate = mate.links[ofName].next {
		if mate.state == held && mate.token == r.token && mate.request.Session == r.request.Session {
			visit(mate)
		}
	}
}

// shareValue gives a request that has entered a grant the value that the grant has.
func (h *holder) shareValue(r *record) {
	if r.request.Owner == "" {
		return
	}
	entered := false
	h.eachMate(r, func(mate *record) {
		if mate != r && !entered {
			r.request.Value, r.request.Revision, entered = mate.request.Value, mate.request.Revision, true
		}
	})
}

// holderAmend amends a grant. It is answered when the authority has the amendment.
func (m *Machine) holderAmend(now protocol.Time, call protocol.CallID, a *protocol.Amend, out *protocol.Effects) {
	h := &m.holder
	r, err := h.findHeld(a.Session, a.Name, a.Token, a.Request), a.Check()
	switch {
	case err != nil:
	case r == nil:
		err = holdfast.ErrNotHeld
	case r.revoked:
		err = r.loss
	case r.end <= now:
		err = holdfast.HoldLimit
	}
	if err != nil {
		d := a.Refused(err)
		out.Decide(call, &d)
		return
	}
	pending := false
	h.eachMate(r, func(mate *record) { pending = pending || mate.amendment != nil })
	switch {
	case a.Revision > r.request.Revision:
		h.eachMate(r, func(mate *record) { mate.request.Value, mate.request.Revision = a.Value, a.Revision })
	case !pending:
		d := r.decision(lock.Amended)
		d.Since = 0 // it is the same again
		out.Decide(call, &d)
		return
	}
	r.keep = false // the authority knows one grant, and would show its value for those that are lent under it
	m.refuseAmendment(r, protocol.ErrFollowed, out)
	if protocol.Mutated("a value is set when it can be read") {
		d := r.decision(lock.Amended)
		out.Decide(call, &d)
		m.sendAmendment(r, out)
		return
	}
	h.changing++
	r.amendment = &amendment{call, r.request.Revision}
	r.pause = 0
	m.send(now, r, out)
	m.remind(r)
}

// refuseAmendment answers the amendment that is under way, if one is.
func (m *Machine) refuseAmendment(r *record, err error, out *protocol.Effects) {
	if r.amendment == nil {
		return
	}
	d := r.decision(lock.Refused)
	d.Revision, d.Err = r.amendment.revision, err
	out.Decide(r.amendment.call, &d)
	r.amendment = nil
	m.holder.changing--
}

// refuseChanges answers the changes of a grant that are under way.
func (m *Machine) refuseChanges(r *record, err error, out *protocol.Effects) {
	m.refuseExtension(r, err, out)
	m.refuseAmendment(r, err, out)
}

// amended processes the answer to an amendment. A later one may have followed it, by another request of the grant, whose
// own answer is to come.
func (m *Machine) amended(r *record, msg *Decided, out *protocol.Effects) {
	switch {
	case r.amendment == nil || msg.Amendment < r.amendment.revision:
		return
	case msg.Kind == lock.Refused:
		m.refuseAmendment(r, msg.Err, out)
	case msg.Amendment < r.request.Revision:
		m.refuseAmendment(r, protocol.ErrFollowed, out)
	default:
		d := r.decision(lock.Amended)
		out.Decide(r.amendment.call, &d)
		r.amendment = nil
		m.holder.changing--
	}
	if r.extension == nil {
		r.due, r.pause = protocol.Never, 0
	}
}

// onAmend amends a grant of another member's client. A grant that was lent there to another client is known here by its
// own token, so the number of its request identifies it.
func (m *Machine) onAmend(now protocol.Time, p *peer, msg *Amend, out *protocol.Effects) {
	if m.withholds(protocol.Mutated("no value is set before it serves")) {
		out.Send(p.id, Acks{Stamp: m.authorityStamp(p)}) // it is heard, and asks again
		return
	}
	if protocol.Mutated("an overtaken value has no effect") {
		latest, _ := m.authority.table.Standing(msg.Session, msg.Name, msg.Seq)
		msg.Revision = max(msg.Revision, latest.Revision+1)
	}
	d, _ := m.authority.table.Amend(now, msg.Session, msg.Name, 0, msg.Seq, &msg.Amendment)
	out.Send(p.id, Decided{
		Stamp: m.authorityStamp(p), Ended: msg.Ended, Kind: d.Kind, Name: msg.Name, Token: d.Token, Err: d.Err, Amendment: d.Revision,
	})
}

// authorityAmend amends a grant of this member's own client.
func (m *Machine) authorityAmend(now protocol.Time, a *protocol.Amend, out *protocol.Effects) {
	if m.withholds(protocol.Mutated("no value is set before it serves")) && m.changesLater(pendingChange{amend: a}, out) {
		return
	}
	d, _ := m.authority.table.Amend(now, a.Session, a.Name, a.Token, a.Request, &a.Amendment)
	m.scratch = append(m.scratch, d)
	m.publish(now, seqKey{}, out)
}
