package consensus

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A suspension of a space of several shards has a piece in each: requests of one session with one number, because each
// shard has a separate table and record. They are made in the order of the shards, each when no other suspension is
// before the piece in the previous shard. Two suspensions therefore cannot wait for each other, since the first one in
// the first shard is first in all; and nothing new is granted in any shard once all pieces are requested, while
// something is still held in some. It is granted when all pieces are, under the token of the last one, and ends in all
// shards when it ends in one.

// isSpaceLock reports whether a name is that of the space, of which every shard has a piece.
func (m *Machine) isSpaceLock(name string) bool { return name == lock.SpaceLock && len(m.parts) > 1 }

// split makes the pieces of a suspension that no shard knows yet.
func (m *Machine) split(r *request) {
	if r.pieces == nil {
		m.suspending = append(m.suspending, r)
	}
	r.pieces = make([]*request, len(m.parts))
	for i, p := range m.parts {
		r.pieces[i] = &request{of: r, client: r.client, part: p, number: r.number, name: r.name}
	}
}

// submitSpaceLock submits a suspension to the first shard that has not granted it. If all have, the last one repeats
// its grant.
func (m *Machine) submitSpaceLock(r *request, out *protocol.Effects) {
	at := slices.IndexFunc(r.pieces, func(piece *request) bool { return piece.state != granted })
	if at < 0 {
		at = len(r.pieces) - 1
	}
	m.submitPiece(r.pieces[at], out)
}

func (m *Machine) submitPiece(piece *request, out *protocol.Effects) {
	r := piece.of
	piece.op, piece.arrived, piece.waitEnd, piece.elsewhere = r.op, r.arrived, r.waitEnd, r.elsewhere
	if piece.part != r.part {
		piece.op.Hold = 0 // the last one has the limit, and ends the others
	}
	if piece.state == unrequested {
		piece.state = requested
	}
	if piece.work == nil {
		m.dispatch(piece, out)
	}
}

// decidedSpaceLock continues a suspension when a shard has decided about its piece.
func (m *Machine) decidedSpaceLock(c *client, p *part, d *lock.Decision, out *protocol.Effects) {
	r := c.requests[d.Request]
	if r == nil && (d.Kind == lock.Granted || d.Kind == lock.Queued) {
		r = m.note(c, p, d) // it was requested through another member
	}
	if r == nil || r.pieces == nil {
		return
	}
	piece := r.pieces[p.index]
	if piece.state == over {
		return
	}
	switch d.Kind {
	case lock.Granted:
		piece.state, piece.token, piece.decision, piece.work = granted, d.Token, *d, nil
		if r.state == granted {
			m.grantSpaceLock(r, d, out) // it was repeated
		}
	case lock.Queued:
		piece.state, piece.token, piece.work = queued, 0, nil
		if r.here && p.index == 0 { // its place is here
			out.Decide(protocol.CallID{}, d)
		}
	case lock.Revoked:
		m.revokedPiece(r, d, out)
	case lock.Refused, lock.Lost, lock.Released:
		m.endedPiece(piece, d, out)
	}
}

// stir continues all suspensions, after a change to one in a shard.
func (m *Machine) stir(out *protocol.Effects) {
	m.suspending = slices.DeleteFunc(m.suspending, func(r *request) bool { return !m.current(r) })
	for _, r := range slices.Clone(m.suspending) {
		if m.current(r) && r.state != granted {
			m.letAllIn(r)
			m.advance(r, out)
		}
	}
}

// advance submits the next piece, and reports a suspension that all shards have granted.
func (m *Machine) advance(r *request, out *protocol.Effects) {
	all, latest := true, &r.pieces[0].decision
	for _, piece := range r.pieces {
		switch {
		case piece.state == granted:
			if piece.decision.Waited >= latest.Waited {
				latest = &piece.decision
			}
		case piece.state == queued && piece.isNext():
			all = false
		case piece.state == unrequested && r.here: // otherwise the requesting member continues
			m.submitPiece(piece, out)
			return
		default:
			return
		}
	}
	if all && len(r.client.letsIn) == 0 {
		m.grantSpaceLock(r, latest, out)
	}
}

// isNext reports whether no other suspension is before a piece that waits in its shard.
func (r *request) isNext() bool {
	is, known := r.part.shard.Replica().Standing(r.client.id, r.name, r.number)
	return known && is.Position == 0 && !r.isBehind()
}

// isBehind reports whether another suspension holds the shard of a piece that waits there.
func (r *request) isBehind() bool {
	_, suspended := r.part.shard.Replica().Table().Suspension()
	return suspended
}

// grantSpaceLock reports a suspension that all shards have granted, the last of them by d.
func (m *Machine) grantSpaceLock(r *request, d *lock.Decision, out *protocol.Effects) {
	decision := r.pieces[len(r.pieces)-1].decision
	decision.Since, decision.Waited = d.Since, d.Waited
	m.onGranted(r.client, r.part, r, &decision, out)
}

// revokedPiece notifies a client to stop when a shard does. A client without the grants of all shards has nothing to
// stop.
func (m *Machine) revokedPiece(r *request, d *lock.Decision, out *protocol.Effects) {
	switch {
	case r.state != granted:
		m.endSpaceLock(r, d, out)
	case !r.revoked:
		r.revoked = true
		revocation := *d
		revocation.Token = r.token
		out.Decide(protocol.CallID{}, &revocation)
	}
}

// endedPiece continues when a suspension has ended in a shard: it is being given up in all, or must end in the others.
func (m *Machine) endedPiece(piece *request, d *lock.Decision, out *protocol.Effects) {
	piece.state = over
	if len(piece.of.giving) > 0 {
		m.given(piece.of, out)
		return
	}
	m.endSpaceLock(piece.of, d, out)
}

// endSpaceLock ends a suspension in all shards, because of a decision of one of them.
func (m *Machine) endSpaceLock(r *request, why *lock.Decision, out *protocol.Effects) {
	m.withdraw(r, &withdrawal{}, out)
	d := *why
	if d.Token = r.token; r.state != granted && d.Kind != lock.Refused {
		d.Kind, d.Token, d.Loss, d.Err = lock.Refused, 0, "", unsentEnd(d.Loss)
	}
	m.ended(r.client, r, &d, out)
}

// releaseSpaceLock releases a suspension, and is answered when all shards have done so.
func (m *Machine) releaseSpaceLock(w *work, out *protocol.Effects) {
	r := w.client.suspension(w.op.Request, w.op.Token)
	if r == nil || r.state != granted {
		m.answerHeld(w, w.client.local, holdfast.ErrNotHeld, out)
		return
	}
	if r.giving = append(r.giving, w); len(r.giving) > 1 {
		return
	}
	for _, piece := range r.pieces {
		if err := m.releasePiece(piece); err != nil {
			w.answered = true
			r.giving = nil
			m.answerHeld(w, w.client.local, err, out)
			return
		}
	}
}

func (m *Machine) releasePiece(piece *request) error {
	op := replica.Op{Kind: replica.Release, Session: piece.client.id, Request: piece.number, Name: piece.name, Token: piece.token}
	return m.submit(piece.part, op, &work{client: piece.client, request: piece})
}

// suspension returns a session's suspension by that number or, if it is 0, the held one with that token; or nil.
func (c *client) suspension(number uint64, token holdfast.Token) *request {
	//tidy:unordered there is one of a number, and one under a token
	for _, r := range c.requests {
		if r.pieces != nil && (number == 0 || r.number == number) && (token == 0 || r.token == token) {
			return r
		}
	}
	return nil
}

// donePiece continues when the release of a piece was answered without a decision.
func (m *Machine) donePiece(w *work, repeated bool, out *protocol.Effects) {
	piece := w.request
	if !m.current(piece) || piece.state == over || len(piece.of.giving) == 0 || repeated && m.releasePiece(piece) == nil {
		return
	}
	piece.state = over // it was not held any more
	m.given(piece.of, out)
}

// given answers the calls that wait for the release of a suspension, when it has ended in all shards.
func (m *Machine) given(r *request, out *protocol.Effects) {
	if slices.ContainsFunc(r.pieces, func(piece *request) bool { return piece.state != over }) {
		return
	}
	giving := r.giving
	r.giving = nil
	for _, w := range giving {
		w.op.Request, w.op.Token = r.number, r.token
		m.answerHeld(w, r.client.local, nil, out)
	}
	m.drop(r, out)
}

// takePiece makes a record of a shard's piece of a suspension of a session that comes from another member.
func (m *Machine) takePiece(c *client, p *part, is *lock.Decision) {
	r := c.requests[is.Request]
	if r == nil {
		r = m.note(c, p, is)
	}
	if r.pieces == nil || r.pieces[p.index].state != unrequested {
		return
	}
	piece := r.pieces[p.index]
	piece.state, piece.token, piece.decision = queued, is.Token, *is
	if is.Kind != lock.Queued {
		piece.state, piece.decision.Kind, piece.decision.Loss = granted, lock.Granted, ""
		r.revoked = r.revoked || is.Kind == lock.Revoked
	}
	if !slices.ContainsFunc(r.pieces, func(piece *request) bool { return piece.state != granted }) {
		r.state, r.token = granted, r.pieces[len(r.pieces)-1].token
	}
}

// isBroken reports whether a suspension from another member has ended in one of its shards: then it has ended.
func (m *Machine) isBroken(r *request) bool {
	return slices.ContainsFunc(r.pieces, func(piece *request) bool {
		_, ended := piece.part.shard.Replica().Ended(r.client.id, r.number)
		return piece.state == unrequested && ended
	})
}

// comparePiece continues a suspension when the copy of one of its shards was replaced by another one.
func (m *Machine) comparePiece(piece *request, lives bool, out *protocol.Effects) {
	c, p := piece.client, piece.part
	copied := p.shard.Replica()
	is, known := copied.Standing(c.id, piece.name, piece.number)
	was, ended := copied.Ended(c.id, piece.number)
	switch {
	case !lives:
		is = lock.Decision{Kind: lock.Lost, Loss: holdfast.SessionExpired}
	case known && (is.Kind == lock.Queued && piece.state == queued || is.Kind == lock.Granted && piece.state == granted && is.Token == piece.token):
		return
	case known:
		is.Since = p.here(is.Since)
	case !ended && piece.state <= requested:
		return // it is on its way, or no member has asked
	case was.Kind == lock.Refused:
		is = was
	default:
		is = lock.Decision{Kind: lock.Lost, Loss: lossOf(&was)}
	}
	is.Session, is.Request, is.Name = c.local, piece.number, piece.name
	m.decidedSpaceLock(c, p, &is, out)
}
