package consensus

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A suspension waits for held locks, and a holder may need another name to release them. In one table an owner that has
// passed its gate is let through (package lock). In several, an owner that holds in one finds the gate of another one
// closed, or its table suspended, and each would wait for the other. The member that requests a suspension therefore
// lets the owner in there: it has a copy of each table, and sees both. The suspension is reported when all shards have
// granted it and no owner is being let in.
//
// Only a session of a member's own process requests suspensions, on behalf of operators. One member serves it, so no
// other member can have reported a suspension that an owner is let into. No other suspension of the session is reported
// in the meantime either, as it may have entered that one's grant.

// passer is an owner that is let into a shard.
type passer struct {
	shard   int
	session lock.SessionID
	owner   string
}

// queued lets in an owner that has started to wait at a shard, if it is for a suspension that waits for it elsewhere.
func (m *Machine) queued(p *part, d *lock.Decision) {
	for _, r := range m.suspending {
		m.letIn(r, passer{p.index, d.Session, d.Owner})
	}
}

// letAllIn lets in all owners that wait at some shard for a suspension that waits for them at another one.
func (m *Machine) letAllIn(r *request) {
	for _, piece := range r.pieces {
		if piece.part.shard == nil {
			continue
		}
		var all []passer
		piece.part.shard.Replica().Table().Parked(func(session lock.SessionID, owner string) {
			all = append(all, passer{piece.part.index, session, owner})
		})
		for _, who := range all {
			m.letIn(r, who)
		}
	}
}

// letIn lets an owner into a shard if the shard accepts the operation.
func (m *Machine) letIn(r *request, who passer) {
	piece := r.pieces[who.shard]
	switch {
	case !m.current(r) || r.state == granted || !r.client.enrolled.Own || r.client.letsIn[who] != nil:
		return
	case who.session == r.client.id && who.owner == r.op.Owner:
		return // it waits only for itself
	case piece.state != granted && (piece.state != queued || piece.isBehind()):
		return // if it takes that still when it is its turn, that tells
	case !m.atGate(piece.part, who).Parked || !m.holdsUp(r, who):
		return
	}
	op := replica.Op{
		Kind: replica.LetIn, Session: r.client.id, Request: r.number, Other: who.session, Attributes: holdfast.Attributes{Owner: who.owner, Hold: piece.op.Hold},
		Age: m.now - r.arrived, Wait: lock.Never,
	}
	if r.waitEnd != lock.Never {
		op.Wait = max(0, r.waitEnd-m.now)
	}
	w := &work{client: r.client, request: r}
	if m.submit(piece.part, op, w) != nil {
		return // what happens next tries it again, or the wait limit ends it
	}
	if r.client.letsIn == nil {
		r.client.letsIn = map[passer]*work{}
	}
	r.client.letsIn[who] = w
}

// holdsUp reports whether a suspension waits for an owner in another shard than the one that the owner is to be let
// into.
func (m *Machine) holdsUp(r *request, who passer) bool {
	for _, piece := range r.pieces {
		if piece.part.index != who.shard && piece.part.shard != nil && m.atGate(piece.part, who).Passed {
			return true
		}
	}
	return false
}

func (m *Machine) atGate(p *part, who passer) lock.OwnerAtGate {
	return p.shard.Replica().Table().OwnerAtGate(who.session, who.owner)
}

// haveLetIn continues when a shard has let an owner in, or could not.
func (m *Machine) haveLetIn(p *part, w *work, out *protocol.Effects) {
	c, who := w.client, passer{p.index, w.op.Other, w.op.Owner}
	if c.letsIn[who] == w {
		delete(c.letsIn, who)
	}
	for _, r := range slices.Clone(m.suspending) {
		if r.client == c && m.current(r) && r.state != granted {
			m.advance(r, out)
		}
	}
}
