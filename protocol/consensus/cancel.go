package consensus

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// cancelReply is the answer to a Cancel.
type cancelReply struct {
	call     protocol.CallID
	decision lock.Decision
	missing  int // shards that have not done it, and one more until it was sent to all of them
}

// withdrawal is the way in which a request is ended: its client has requested it, or a shard has decided it; or this
// member gives it up by itself, because no decision comes: then it stays if it has come through another member in the
// meantime (replica.Cancel).
type withdrawal struct {
	givenUp bool
	reply   *cancelReply // the answer when it is done; nil if there is none
}

// withdraw ends a request permanently, in any state.
func (m *Machine) withdraw(r *request, why *withdrawal, out *protocol.Effects) {
	for _, piece := range r.pieces {
		if piece.state != over && (piece.state != unrequested || r.elsewhere || r.client.isAdopted()) {
			m.withdraw(piece, why, out)
		}
	}
	if r.pieces != nil {
		return
	}
	if presence := r.client.presenceAt(r.part); presence != nil {
		if at := slices.Index(presence.queue, r); at >= 0 {
			presence.queue = slices.Delete(presence.queue, at, at+1)
			if !r.elsewhere && !r.client.isAdopted() {
				return // no shard has been asked
			}
		}
	}
	m.cancelAt(r.client, r.part, r.name, r.number, why, out)
}

// cancelAt ends a request in a shard.
func (m *Machine) cancelAt(c *client, p *part, name string, number uint64, why *withdrawal, out *protocol.Effects) {
	if !c.mayBeKnownTo(p) {
		return
	}
	w := &work{
		client: c, reply: why.reply,
		op: replica.Op{Kind: replica.Cancel, Session: c.id, Request: number, Name: name, GivenUp: why.givenUp},
	}
	if c.ending == nil {
		c.ending = map[ending]*work{}
	}
	c.ending[ending{number, p.index}] = w
	if w.reply != nil {
		w.reply.missing++
	}
	m.request(p, w, out)
}

// submitCancel has a shard end a request. If the shard cannot accept that, the request ends with its session.
func (m *Machine) submitCancel(p *part, w *work, out *protocol.Effects) {
	if err := m.submit(p, w.op, w); err != nil {
		m.uncancelled(p, w, err, out)
	}
}

// cancel ends a request for its client, and is answered when that is done. Until then another member, where the client
// may already be, can report the grant to it. If this member no longer serves the client by then, the client gets no
// answer here, and cancels the request there. A session of this process is nowhere else, and any later grant is
// returned: it is answered at once.
func (m *Machine) cancel(call protocol.CallID, f *protocol.Cancel, out *protocol.Effects) {
	c := m.clientOf(f.Session)
	of := &cancelReply{call: call, decision: lock.Decision{Kind: lock.Released, Session: f.Session, Request: f.Request, Name: f.Name}, missing: 1}
	switch {
	case c == nil:
	case m.failed != nil && !c.enrolled.Own:
		return // it cancels it at another member when this one is gone
	case m.failed != nil:
	default:
		waits := of
		if c.enrolled.Own || call == (protocol.CallID{}) {
			waits = nil
		}
		delete(c.open, f.Request) // it is settled: what comes of it through another member is given back
		if r := c.requests[f.Request]; r != nil {
			of.decision.Token = r.token
			m.withdraw(r, &withdrawal{reply: waits}, out)
			m.drop(r, out)
		} else {
			m.cancelUnknown(c, f, waits, out)
		}
	}
	of.done(out)
}

// cancelUnknown ends a request that this member knows nothing of, which may come through another one.
func (m *Machine) cancelUnknown(c *client, f *protocol.Cancel, reply *cancelReply, out *protocol.Effects) {
	for _, p := range m.parts {
		if m.isSpaceLock(f.Name) || p == m.partOf(f.Name) {
			m.cancelAt(c, p, f.Name, f.Request, &withdrawal{reply: reply}, out)
		}
	}
}

// cancelled records that a shard has ended a request, or will not.
func (m *Machine) cancelled(p *part, w *work, out *protocol.Effects) {
	if at := (ending{w.op.Request, p.index}); w.client.ending[at] == w {
		delete(w.client.ending, at)
	}
	switch {
	case w.reply == nil:
	case m.serves(w.client):
		w.reply.done(out)
	default:
		w.reply.missing--
	}
}

// done answers a Cancel when no part of it is missing any more.
func (f *cancelReply) done(out *protocol.Effects) {
	if f.missing--; f.missing == 0 {
		out.Decide(f.call, &f.decision)
	}
}
