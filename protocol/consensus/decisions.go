package consensus

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// decided passes a shard's decision to a client that is served here.
func (m *Machine) decided(p *part, decision *lock.Decision, out *protocol.Effects) {
	if m.isSpaceLock(decision.Name) {
		p.stirred = true
	} else if decision.Kind == lock.Queued && len(m.suspending) > 0 {
		m.queued(p, decision)
	}
	c := m.clients[decision.Session]
	if c == nil {
		return
	}
	if c.ending[ending{decision.Request, p.index}] != nil {
		return // its end was reported
	}
	d := *decision
	d.Session, d.Since = c.local, p.here(d.Since)
	r := c.requests[d.Request]
	if r == nil && (d.Kind == lock.Granted || d.Kind == lock.Queued) && d.Request <= c.settled && !c.open[d.Request] {
		// Its client has settled it, and another member's word has come late.
		m.cancelAt(c, p, d.Name, d.Request, &withdrawal{}, out)
		return
	}
	if m.isSpaceLock(d.Name) {
		m.decidedSpaceLock(c, p, &d, out)
		return
	}
	switch d.Kind {
	case lock.Granted:
		m.onGranted(c, p, r, &d, out)
	case lock.Queued:
		switch {
		case r == nil:
			m.note(c, p, &d)
		case r.state != granted:
			r.state, r.work = queued, nil
			if r.here {
				out.Decide(protocol.CallID{}, &d)
			}
		}
	case lock.Revoked:
		if r == nil {
			r = m.note(c, p, &d)
			r.revoked = false
		}
		if !protocol.Mutated("what is revoked is held") {
			r.state, r.token, r.work = granted, d.Token, nil // the grant was in a snapshot
		}
		if !r.revoked {
			r.revoked = true
			out.Decide(protocol.CallID{}, &d)
		}
	case lock.Refused, lock.Lost, lock.Released:
		m.ended(c, r, &d, out)
	case lock.Amended:
		c.amended(r, &d, out)
	}
}

// amended answers the waiting call for an amendment, or informs the client of one that came through another member.
func (c *client) amended(r *request, d *lock.Decision, out *protocol.Effects) {
	at := slices.IndexFunc(c.amending, func(w *work) bool { return w.isOf(d) && w.op.Revision == d.Revision })
	if at >= 0 {
		w := c.amending[at]
		w.answered = true
		c.amending = slices.Delete(c.amending, at, at+1)
		out.Decide(w.call, d)
	} else if r != nil && r.here {
		out.Decide(protocol.CallID{}, d)
	}
}

// grant returns the grant that an operation is about, if it is held.
func (w *work) grant(p *part) (grant lock.Grant, held bool) {
	if w.client == nil || p.shard == nil {
		return grant, false
	}
	holders := p.shard.Replica().Table().Show(w.op.Name).Holders
	at := slices.IndexFunc(holders, func(g lock.Grant) bool { return g.Session == w.client.id && g.Token == w.op.Token })
	if at < 0 {
		return grant, false
	}
	return holders[at], true
}

func (m *Machine) onGranted(c *client, p *part, r *request, d *lock.Decision, out *protocol.Effects) {
	if r == nil {
		r = m.note(c, p, d) // it was requested through another member
	}
	r.state, r.token, r.work, r.unsent = granted, d.Token, nil, nil
	switch {
	case !r.here, slices.ContainsFunc(c.giving, func(w *work) bool { return w.isOf(d) }):
		// No client asks here, or it is being given up.
	case m.isConfirmed(r, d):
		r.keepUnsent(d)
		m.confirm(r)
	case m.isHeard(r) && m.stands(r, d):
		out.Decide(protocol.CallID{}, d)
	default:
		// It has ended already, which is reported next. Or the session may have, further on than this copy is, and
		// another client may have the name by now: the next beat that counts reports that it has not.
		r.keepUnsent(d)
	}
}

// keepUnsent keeps a decision that goes to the client of a request later.
func (r *request) keepUnsent(d *lock.Decision) {
	kept := *d
	r.unsent, r.client.unsent[r.number] = &kept, true
}

// isConfirmed reports whether a grant must wait until this copy is as new as now. This applies to a grant with a hold
// limit whose request was made through another member, because the limit counts from then; and to one that several
// calls wait for, because the client may have learnt of it by another call, and have released it since.
func (m *Machine) isConfirmed(r *request, d *lock.Decision) bool {
	elsewhere := m.isElsewhere(r)
	if protocol.Mutated("a grant that was asked for elsewhere is confirmed") {
		elsewhere = r.elsewhere // as was known when the request was noted
	}
	return d.Hold > 0 && elsewhere || r.pieces == nil && r.part.shard.Replica().RequestedTogether(r.client.id, r.name, r.number)
}

// stands reports whether a grant has not ended, as far as this member can know: neither in a later entry that it has
// already applied, nor by its hold limit, which its client counts from its request. If the request was made through
// another member the table knows better.
func (m *Machine) stands(r *request, d *lock.Decision) bool {
	requestedAt := min(r.arrived, d.Since-d.Waited)
	return r.isHeld() && (d.Hold == 0 || m.now < requestedAt+d.Hold)
}

// isHeld reports whether a request holds its name, as far as this member's copies know.
func (r *request) isHeld() bool {
	if r.pieces != nil {
		return !slices.ContainsFunc(r.pieces, func(piece *request) bool { return !piece.isHeld() })
	}
	return r.part.shard.Replica().Table().Held(r.client.id, r.name, r.token)
}

// holdEnd returns when a request's hold limit has passed, by this member's copy of the table's time.
func (r *request) holdEnd() protocol.Time {
	for _, g := range r.part.shard.Replica().Table().Show(r.name).Holders {
		if g.Session == r.client.id && g.Token == r.token {
			return r.part.here(g.Until)
		}
	}
	return protocol.Never
}

// isHeard reports whether the session of a request is alive in its shard, because it was heard there within its ttl.
func (m *Machine) isHeard(r *request) bool {
	if r.pieces != nil {
		return !slices.ContainsFunc(r.pieces, func(piece *request) bool { return !m.isHeard(piece) })
	}
	presence := r.client.presenceAt(r.part)
	return presence != nil && m.now < presence.heard+r.client.enrolled.TTL
}

// isAt reports whether a request is one of a shard: a suspension is one of all.
func (r *request) isAt(p *part) bool { return r.part == p || r.pieces != nil }

// confirm asks whether a grant is still valid.
func (m *Machine) confirm(r *request) {
	m.inquire(r.part, inquiry{granted: r, until: m.now + patienceOfInquiry*m.election()})
}

// confirmed sends a grant that was kept, now that the copy is as new as when it was granted here. That answer may have come
// late, and the limit be over by now.
func (m *Machine) confirmed(r *request, out *protocol.Effects) {
	if m.current(r) && r.unsent != nil && m.stands(r, r.unsent) && m.now < r.holdEnd() {
		out.Decide(protocol.CallID{}, r.unsent)
		r.unsent = nil
	}
}

// reportGrants reports to a live session its grants from the time in which this member did not know whether it was
// alive.
func (m *Machine) reportGrants(c *client, p *part, out *protocol.Effects) {
	for _, number := range slices.Sorted(maps.Keys(c.unsent)) {
		r := c.requests[number]
		if r == nil || r.unsent == nil {
			delete(c.unsent, number) // it was sent, or has had its end
			continue
		}
		if !r.isAt(p) || m.isConfirmed(r, r.unsent) || r.pieces != nil && !m.isHeard(r) {
			continue
		}
		if m.stands(r, r.unsent) {
			out.Decide(protocol.CallID{}, r.unsent)
			r.unsent = nil
		}
	}
}

// giveBack returns a grant of a request that its client has settled, and that another member has nevertheless
// requested.
func (m *Machine) giveBack(c *client, p *part, out *protocol.Effects) {
	for _, number := range slices.Sorted(maps.Keys(c.requests)) {
		if r := c.requests[number]; r.isAt(p) && !r.here && number <= c.settled && !c.open[number] {
			m.withdraw(r, &withdrawal{}, out)
			m.drop(r, out)
		}
	}
}

// note makes a record of a request made through another member.
func (m *Machine) note(c *client, p *part, d *lock.Decision) *request {
	r := &request{client: c, part: p, number: d.Request, name: d.Name, token: d.Token, until: lock.Never, arrived: m.now, waitEnd: lock.Never}
	// The client sends the request's details when it repeats it. Until then this is enough for a repetition: the table
	// knows it.
	r.op = replica.Op{Kind: replica.Acquire, Request: d.Request, Name: d.Name, Attributes: holdfast.Attributes{Shape: d.Shape, Owner: d.Owner, Reason: d.Reason}, Client: d.Client}
	r.state = granted
	if d.Kind == lock.Queued {
		r.state = queued
	}
	r.elsewhere = true
	r.revoked = d.Kind == lock.Revoked
	if m.isSpaceLock(d.Name) {
		r.state, r.token, r.revoked = queued, 0, false // it goes by its pieces
	}
	m.keep(r)
	return r
}

// isOf reports whether a release is of the request of a decision.
func (w *work) isOf(d *lock.Decision) bool {
	return w.op.Name == d.Name && (w.op.Request == d.Request || w.op.Request == 0 && w.op.Token == d.Token)
}

// ended informs the waiting call, or otherwise the client, that a request has ended.
func (m *Machine) ended(c *client, r *request, d *lock.Decision, out *protocol.Effects) {
	at := slices.IndexFunc(c.giving, func(w *work) bool { return w.isOf(d) })
	if at >= 0 {
		w := c.giving[at]
		c.giving = slices.Delete(c.giving, at, at+1)
		w.answered = true
		if d.Kind != lock.Released {
			d.Kind, d.Loss, d.Err = lock.Refused, "", holdfast.ErrNotHeld
		}
		out.Decide(w.call, d)
	} else if r != nil && (r.here || r.revoked || d.Kind == lock.Lost) {
		if r.unsent != nil && d.Kind != lock.Refused {
			// Its client has not heard that it had it.
			d.Kind, d.Token, d.Loss, d.Err = lock.Refused, 0, "", unsentEnd(d.Loss)
		} else if r.here && d.Token == 0 && d.Kind == lock.Released {
			d.Kind, d.Err = lock.Refused, holdfast.EndedByAnother // through another member: a cancel here is answered at once
		}
		out.Decide(protocol.CallID{}, d)
	}
	if r != nil {
		m.drop(r, out)
	}
}

// unsentEnd is why a request is refused that was granted, and whose grant has ended before its client heard of it.
func unsentEnd(why holdfast.Loss) error {
	if why == "" {
		return holdfast.ErrUnavailable
	}
	return why
}

// drop forgets a request that has had its end.
func (m *Machine) drop(r *request, out *protocol.Effects) {
	delete(r.client.requests, r.number)
	delete(r.client.open, r.number)
	delete(r.client.unsent, r.number)
	m.waits--
	for _, w := range r.giving {
		m.answerHeld(w, r.client.local, holdfast.ErrNotHeld, out)
	}
	m.reminders.Sweep(m.waits+len(m.owns)+len(m.inquiries)+len(m.transfers)+len(m.parts), m.wanted)
	m.concludeClosing(out)
}

// notify informs a client of the outcome of a request, and forgets the request if that is its end.
func (m *Machine) notify(r *request, d lock.Decision, out *protocol.Effects) {
	d.Session, d.Request, d.Name = r.client.local, r.number, r.name
	d.Owner, d.Client, d.Reason = r.op.Owner, cmp.Or(r.op.Client, r.client.enrolled.Client), r.op.Reason
	d.Mode, d.Units, d.Capacity = r.op.Mode, r.op.Units, r.op.Capacity
	out.Decide(protocol.CallID{}, &d)
	if d.Kind != lock.Revoked {
		m.drop(r, out)
	}
}

func (m *Machine) refuse(r *request, err error, out *protocol.Effects) {
	if r.of != nil {
		r.state = over
		m.withdraw(r.of, &withdrawal{givenUp: true}, out)
		r = r.of
	}
	m.notify(r, lock.Decision{Kind: lock.Refused, Err: err, Waited: max(0, m.now-r.arrived)}, out)
}

func (m *Machine) lost(r *request, why holdfast.Loss, out *protocol.Effects) {
	m.notify(r, lock.Decision{Kind: lock.Lost, Token: r.token, Loss: why}, out)
}

// done handles the result of this member's operation, after its decisions.
func (m *Machine) done(p *part, result *shard.Result, out *protocol.Effects) {
	w := p.work[result.Number]
	if w == nil {
		return
	}
	delete(p.work, result.Number)
	switch w.op.Kind {
	case replica.Open:
		m.opened(w, result.Err, out)
	case replica.Attach:
		m.attached(w, result.Err, out)
	case replica.Acquire:
		if w.request.work == w {
			w.request.work = nil
			if result.Repeated && m.current(w.request) {
				m.dispatch(w.request, out) // the decision did not come out
			}
		}
	case replica.Cancel:
		m.cancelled(p, w, out)
	case replica.Recall:
		m.recalled(p, w, result, out)
	case replica.Release, replica.Extend, replica.Amend:
		if w.request != nil {
			m.donePiece(w, result.Repeated, out)
			return
		}
		m.doneHeld(p, w, result, out)
	case replica.LetIn:
		m.haveLetIn(p, w, out)
	case replica.Break:
		m.broken(p, w.breaking, result, out)
	}
}

// current reports whether a request is still wanted.
func (m *Machine) current(r *request) bool {
	if r.of != nil {
		return m.current(r.of) && r.of.pieces[r.part.index] == r
	}
	return m.serves(r.client) && r.client.requests[r.number] == r
}

// doneHeld answers a Release, an Extend or an Amend that was not answered by a decision.
func (m *Machine) doneHeld(p *part, w *work, result *shard.Result, out *protocol.Effects) {
	if w.answered {
		return
	}
	if result.Repeated && m.serves(w.client) {
		again := &work{client: w.client, call: w.call}
		if m.submit(p, w.op, again) == nil {
			m.replaceHeld(w, again)
			return
		}
	}
	m.replaceHeld(w, nil)
	err := result.Err
	if result.Repeated {
		err = errUnseen
	}
	if isNotHeld(err) {
		err = holdfast.ErrNotHeld
	}
	m.answerHeld(w, w.client.local, err, out)
}

// recalled answers a Recall that nothing was done for, or after which nothing is left to report: the rest is reported as the
// shard decides it. What has waited is refused.
func (m *Machine) recalled(p *part, w *work, result *shard.Result, out *protocol.Effects) {
	err := result.Err
	switch {
	case isNotHeld(err):
		err = holdfast.ErrNotHeld
	case err == nil && p.isOpen(w), err == nil && w.request != nil && w.request.here && w.client.requests[w.op.Request] != w.request:
		return
	case err == nil && w.op.Token == 0:
		err = holdfast.EndedByAnother
	}
	m.answerHeld(w, w.client.local, err, out)
}

// isOpen reports whether the subject of a Recall still holds or waits.
func (p *part) isOpen(w *work) (open bool) {
	if w.op.Request == 0 {
		return p.shard.Replica().Table().Held(w.client.id, w.op.Name, w.op.Token)
	}
	_, open = p.shard.Replica().Standing(w.client.id, w.op.Name, w.op.Request)
	return open
}

// replaceHeld replaces a pending release or amendment by another one, or by none.
func (m *Machine) replaceHeld(w, by *work) {
	for _, list := range [...]*[]*work{&w.client.giving, &w.client.amending} {
		at := slices.Index(*list, w)
		switch {
		case at < 0:
		case by == nil:
			*list = slices.Delete(*list, at, at+1)
		default:
			(*list)[at] = by
		}
	}
}

// turned continues when a shard has another leader.
func (m *Machine) turned(p *part, out *protocol.Effects) {
	if p.leader == 0 {
		return
	}
	p.nonmember, p.lacks = false, nil
	out.Note(Led{p.index, protocol.ID(p.leader), p.shard.Replica().Reign()})
	if len(p.batches) > 0 {
		m.resay(p)
	}
	m.transferred(out)
	m.elected(p, out)
	m.handOver(p, out)
}

// compare informs the clients of the outcomes of their requests during the replacement of a shard's copy by another
// one.
func (m *Machine) compare(p *part, out *protocol.Effects) {
	for _, c := range m.inOrder() {
		presence := c.presenceAt(p)
		if presence == nil || presence.state == opening {
			continue
		}
		_, lives := p.shard.Replica().Session(c.id)
		if !lives && c.enrolled.Own {
			m.restart(c, out)
			continue
		}
		m.noteAttached(c, p, out)
		if !lives {
			presence.state = gone
		} else {
			p.shard.Replica().Requests(c.id, func(number uint64, name string) { m.take(c, p, number, name) })
			m.giveBack(c, p, out)
		}
		for _, number := range slices.Sorted(maps.Keys(c.requests)) {
			switch r := c.requests[number]; {
			case r.pieces != nil:
				m.comparePiece(r.pieces[p.index], lives, out)
			case r.part == p:
				m.compareRequest(r, lives, out)
			}
		}
	}
}

func (m *Machine) compareRequest(r *request, lives bool, out *protocol.Effects) {
	copied := r.part.shard.Replica()
	is, known := copied.Standing(r.client.id, r.name, r.number)
	was, ended := copied.Ended(r.client.id, r.number)
	switch {
	case !lives && r.state == granted:
		m.lost(r, holdfast.SessionExpired, out)
	case !lives:
		m.refuse(r, holdfast.SessionExpired, out)
	case known && is.Kind == lock.Queued, !known && !ended:
		// It waits, or is on its way.
	case known && is.Kind == lock.Revoked && r.state == granted:
		if !r.revoked {
			r.revoked = true
			m.notify(r, is, out)
		}
	case known && r.state == granted:
	case !known && r.state == granted:
		m.lost(r, lossOf(&was), out)
	case r.work == nil:
		r.state = requested
		m.dispatch(r, out) // the answer has the full outcome
	}
}

// lossOf is why a hold has ended that its client has not given up. The reason is not known of one that has ended too
// long ago.
func lossOf(d *lock.Decision) holdfast.Loss {
	if d.Kind == lock.Lost {
		return d.Loss
	}
	return holdfast.MemberLost
}
