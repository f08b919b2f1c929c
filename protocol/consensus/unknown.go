package consensus

import (
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A client that has come from another member may have requested a name there a moment before, or may even hold it: this
// member's copy of the name's shard does not know the session yet. The client's calls here for that name wait until the
// session is open in the shard. By then the shard has the other member's operations, or remembers that the session has
// ended.

// isKnownTo reports whether a shard has the session: it was opened there, or another member has opened it, and it may hold
// something already when this one's word has not come.
func (c *client) isKnownTo(p *part) bool {
	if presence := c.presenceAt(p); presence != nil && presence.state != opening {
		return presence.state == open
	}
	if p.shard == nil {
		return false
	}
	_, lives := p.shard.Replica().Session(c.id)
	return lives
}

// mayBeKnownTo reports whether a shard has the session, or may have it for another member.
func (c *client) mayBeKnownTo(p *part) bool {
	if c.isKnownTo(p) {
		return true
	}
	at := c.presenceAt(p)
	return c.isAdopted() && (at == nil || at.state != gone)
}

// isAdopted reports whether a session has come from another member.
func (c *client) isAdopted() bool {
	return c.open != nil && !protocol.Mutated("a wish waits for its session")
}

// request has a shard do an operation as soon as it has the session.
func (m *Machine) request(p *part, w *work, out *protocol.Effects) {
	switch {
	case !w.client.isKnownTo(p):
		m.postpone(p, w, out)
	case w.op.Kind == replica.Cancel:
		m.submitCancel(p, w, out)
	default:
		m.submitHeld(p, w, out)
	}
}

// postpone has an operation wait until the session is open in a shard, and opens it.
func (m *Machine) postpone(p *part, w *work, out *protocol.Effects) {
	c := w.client
	switch at := c.presenceAt(p); {
	case at == nil:
		m.enter(c, &presence{part: p, postponed: []*work{w}}, out)
	case len(at.postponed) >= m.mostLocks():
		m.unpostponed(p, w, &holdfast.LimitError{Limit: "locks_per_session", Value: int64(m.mostLocks())}, out)
	default:
		at.postponed = append(at.postponed, w)
	}
}

// unpostponed answers an operation whose session is not opened.
func (m *Machine) unpostponed(p *part, w *work, err error, out *protocol.Effects) {
	if errors.Is(err, holdfast.ErrLost) {
		err = holdfast.ErrNotHeld // nothing is left of the session there
	}
	if w.op.Kind == replica.Cancel {
		m.uncancelled(p, w, err, out)
		return
	}
	m.answerHeld(w, w.client.local, err, out)
}

// uncancelled records that a shard cannot accept the end of a request.
func (m *Machine) uncancelled(p *part, w *work, err error, out *protocol.Effects) {
	out.Note(Ignored{What: fmt.Sprintf("the end of request %d of session %v: %v; it ends with its session", w.op.Request, w.client.id, err)})
	m.cancelled(p, w, out)
}
