package consensus

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// Every shard with a session keeps its current client, so all members know it (lock.Attachments). A client that takes
// the session over connects to one of them, whose session machine reports it with the client's first beat. The beat is
// answered when all those shards have recorded the client. When this is applied, at other members as well, the session
// machine is informed, and the earlier client's waiting requests end.

// isFormer refuses the beat of a client that another one has taken the session over from, as far as this copy knows, and
// reports that.
func (m *Machine) isFormer(h *hearing) bool {
	s, lives := h.presence.part.shard.Replica().Session(h.client.id)
	if !lives || h.of.attached.Client == 0 || !h.of.attached.Before(s.Attached.Attachment) {
		return false
	}
	h.of.err, h.of.later = holdfast.EndedByAnother, h.of.later.Join(s.Attached)
	return true
}

// wasTaken refuses the beat of a client that another one has taken the session over from, as known to the leader, and
// reports that.
func (h *hearing) wasTaken(taken []shard.Taken) bool {
	at := slices.IndexFunc(taken, func(t shard.Taken) bool { return t.Session == h.client.id })
	if at < 0 || h.of.attached.Client == 0 || !h.of.attached.Before(taken[at].Attached) {
		return false
	}
	h.of.err, h.of.later = holdfast.EndedByAnother, h.of.later.Join(lock.Attachments{Attachment: taken[at].Attached})
	return true
}

// errTied refuses to tie a session to a second member.
var errTied = fmt.Errorf("%w: the session uses spaces that are not durable through another member already; open another session for them", holdfast.ErrConflict)

// isTiedElsewhere refuses to tie a session to this member if it is tied to another one.
func (m *Machine) isTiedElsewhere(h *hearing) bool {
	s, lives := h.presence.part.shard.Replica().Session(h.client.id)
	if !h.of.tied || !lives || s.Tied == 0 || s.Tied == uint64(m.config.Self) {
		return false
	}
	h.of.err = errTied
	return true
}

// attach has a beat wait until its shard knows that the client uses the session, and that the session is tied to this
// member if it has to be, and reports that it does, or has failed.
func (m *Machine) attach(h *hearing, out *protocol.Effects) bool {
	p, presence := h.presence.part, h.presence
	s, _ := p.shard.Replica().Session(h.client.id)
	switch {
	case (h.of.attached.Client == 0 || !s.Attached.Before(h.of.attached.Attachment)) && (!h.of.tied || s.Tied != 0):
		return false
	case presence.attaching != nil:
		presence.attaching.hearings = append(presence.attaching.hearings, h)
		return true
	}
	w := &work{client: h.client, presence: presence, hearings: []*hearing{h}}
	op := replica.Op{Kind: replica.Attach, Session: h.client.id, Attached: replica.Attached(h.of.attached), Tied: h.of.tied}
	if err := m.submit(p, op, w); err != nil {
		h.of.err = err
		m.counted(h, out)
		return true
	}
	presence.attaching = w
	return true
}

// attached continues with the beats that have waited for it.
func (m *Machine) attached(w *work, err error, out *protocol.Effects) {
	if w.presence.attaching != w {
		return
	}
	w.presence.attaching = nil
	if errors.Is(err, holdfast.SessionExpired) {
		w.presence.state = gone
	}
	for _, h := range w.hearings {
		switch {
		case !m.counts(h):
		case err != nil:
			h.of.err = err
			m.counted(h, out)
		default:
			m.hear(h, out)
		}
	}
}

// asker returns the client that makes the request over its stream; zero if it has no number, and for a single call.
func (c *client) asker(request uint64) lock.Attachment {
	if request >= lock.SingleCall || protocol.Mutated("a request says which client asks") {
		return lock.Attachment{}
	}
	return c.enrolled.Attached.Attachment
}

// isInherited reports whether a request was granted to an earlier client than its session's current one.
func (r *request) isInherited() bool {
	if r.pieces != nil {
		return slices.ContainsFunc(r.pieces, (*request).isInherited)
	}
	s, _ := r.part.shard.Replica().Session(r.client.id)
	return r.token <= s.Inherited
}

// noteAttached informs the session machine when a shard knows of a later client of a session than this member does. No
// call waits any more for requests made here that were not granted as far as their client knows. The earlier client may
// have had its grant through another member, and believe in it: the request is therefore given up only as far as it was
// made here.
func (m *Machine) noteAttached(c *client, p *part, out *protocol.Effects) {
	s, lives := p.shard.Replica().Session(c.id)
	if before := c.enrolled.Attached; !lives || !before.Before(s.Attached.Attachment) {
		return
	} else if c.enrolled.Attached = before.Join(s.Attached); before.Client == 0 {
		return
	}
	out.Reply(protocol.CallID{}, &protocol.Attached{Session: c.local, Now: c.enrolled.Attached})
	why := &withdrawal{givenUp: !protocol.Mutated("a takeover ends no grant of another member")}
	for _, number := range slices.Sorted(maps.Keys(c.requests)) {
		if r := c.requests[number]; r.here && number < lock.SingleCall && (r.state != granted || r.unsent != nil) {
			m.withdraw(r, why, out)
			m.drop(r, out)
		}
	}
}
