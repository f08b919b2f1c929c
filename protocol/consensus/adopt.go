package consensus

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// adoption is a session that this member is to serve, while it asks all shards for it.
type adoption struct {
	call     protocol.CallID
	session  lock.SessionID
	requests []uint64
	last     uint64
	missing  int // shards that have not answered
}

// adopt asks all shards for a session.
func (m *Machine) adopt(call protocol.CallID, f *protocol.Adopt, out *protocol.Effects) {
	switch {
	case m.failed != nil:
		out.Reply(call, &protocol.Adopted{Err: m.errFailed()})
		return
	case m.removed():
		out.Reply(call, &protocol.Adopted{Err: errRemoved})
		return
	case m.adoptions >= m.config.Operators:
		out.Reply(call, &protocol.Adopted{Err: fmt.Errorf("%w: %d sessions are asked for already", holdfast.ErrUnavailable, m.adoptions)})
		return
	}
	a := &adoption{call: call, session: f.Session, requests: slices.Clone(f.Requests), last: f.Last, missing: len(m.parts)}
	m.adoptions++
	for _, p := range m.parts {
		m.inquire(p, inquiry{adoption: a, until: m.now + 4*m.election()})
	}
}

// adopted starts to serve the session, when all shards have reported its entries.
func (m *Machine) adopted(a *adoption, out *protocol.Effects) {
	c := m.clients[a.session]
	if c == nil {
		c = newClient(a.session)
	}
	m.findElsewhere(c)
	found := false
	for _, presence := range c.presences {
		r := presence.part.shard.Replica()
		if s, lives := r.Session(a.session); lives {
			found = true
			m.noteAttached(c, presence.part, out)
			c.enrolled = protocol.Enroll{
				Session: s.ID, TTL: s.TTL, Proof: s.Secret, Client: s.Client, Identity: s.Identity, Attached: c.enrolled.Attached.Join(s.Attached),
				Tied: c.enrolled.Tied || s.Tied != 0,
			}
			r.Requests(s.ID, func(number uint64, name string) { m.take(c, presence.part, number, name) })
		} else if presence.state == opening {
			found = true // it is about to be, by requests made here
		}
	}
	if !found {
		out.Reply(a.call, &protocol.Adopted{Err: holdfast.SessionExpired})
		return
	}
	m.clients[c.id] = c
	c.settled, c.open = a.last, map[uint64]bool{}
	out.Reply(a.call, &protocol.Adopted{Enrolled: c.enrolled})
	for _, number := range a.requests {
		c.open[number] = true
		if r := c.requests[number]; r != nil && !m.isBroken(r) {
			if r.revoked {
				m.retell(r, out)
			}
			continue
		} else if r != nil {
			m.withdraw(r, &withdrawal{}, out)
			m.drop(r, out)
		}
		for _, presence := range c.presences {
			was, ended := presence.part.shard.Replica().Ended(c.id, number)
			if ended && (was.Kind == lock.Lost || was.Kind == 0) {
				out.Decide(protocol.CallID{}, &lock.Decision{Kind: lock.Lost, Session: c.local, Request: number, Token: was.Token, Loss: lossOf(&was)})
				break
			}
		}
	}
}

// take makes a record of a shard's entry of an adopted session, if there is none.
func (m *Machine) take(c *client, p *part, number uint64, name string) {
	is, known := p.shard.Replica().Standing(c.id, name, number)
	if !known || c.ending[ending{number, p.index}] != nil {
		return
	}
	switch r := c.requests[number]; {
	case m.isSpaceLock(name):
		m.takePiece(c, p, &is)
	case r == nil:
		m.note(c, p, &is)
	}
}

// retell notifies a client that comes from another member to stop using revoked grants.
func (m *Machine) retell(r *request, out *protocol.Effects) {
	is, _ := r.part.shard.Replica().Standing(r.client.id, r.name, r.number)
	for _, piece := range r.pieces {
		if one, _ := piece.part.shard.Replica().Standing(r.client.id, r.name, r.number); one.Kind == lock.Revoked {
			is = one
			is.Token = r.token
		}
	}
	m.notify(r, is, out)
}
