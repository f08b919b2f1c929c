package local

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// unknownPosition is the position in a queue that is not known: no member sees all that wait.
const unknownPosition = -1

// answering is the call that is being answered within this step.
type answering struct {
	call    protocol.CallID
	session lock.SessionID
	request uint64
	release bool           // it gives up a hold
	queued  *lock.Decision // the answer, if nothing better comes within the step
}

// keptDecisions is how much scratch is kept from one step to the next.
const keptDecisions = 256

// publish passes on the table's decisions, in order, and records them: a request that has ended, or has entered its
// owner's grant, asks no more.
func (c *Clients[R]) publish(now protocol.Time, out *protocol.Effects) {
	decided := c.scratch
	c.scratch = nil
	for i := range decided {
		d := &decided[i]
		ended, held := c.follow(now, d)
		if held {
			c.endAmendments(ended, ended.Requested().Lost, out)
		} else if d.Kind == lock.Revoked {
			if own, holds := c.holderOf(d); holds {
				c.endAmendments(own, d.Loss, out)
			}
		}
		if !held || !c.withhold(ended, d) {
			c.decide(d, out)
		}
	}
	if cap(decided) <= keptDecisions && c.scratch == nil {
		c.scratch = decided[:0]
	}
}

// follow brings the requests in line with a decision. It returns the one whose hold has ended by
// that, if any has.
func (c *Clients[R]) follow(now protocol.Time, d *lock.Decision) (ended R, held bool) {
	r, known := c.requests[keyOfDecision(d)]
	waits := known && !r.Requested().Held
	switch d.Kind {
	case lock.Granted:
		if waits {
			c.drop(r) // it has entered the grant of its owner
		}
	case lock.Refused, lock.Released, lock.Lost:
		if waits {
			if by, held := d.Err.(*lock.HeldBy); held && by.Holder == (lock.SessionID{}) || d.Err == holdfast.ErrUnavailable {
				d.Err = c.protocol.Explain(now, r, d.Err)
			}
			c.drop(r)
			return ended, false
		}
		if d.Token == 0 {
			return ended, false
		}
		for _, r := range c.protocol.Named(d.Name) {
			if at := r.Requested(); at.Held && at.Token == d.Token && !c.table.Grants(d.Name, d.Token) {
				at.Lost = d.Loss
				c.drop(r)
				return r, true
			}
		}
	}
	return ended, false
}

// withhold reports whether the current release has ended a hold of which others still know, and keeps its answer until
// they no longer do.
func (c *Clients[R]) withhold(ended R, d *lock.Decision) bool {
	if d.Kind != lock.Released || !c.answering.release || !c.answers(d) || !c.protocol.Withhold(ended) {
		return false
	}
	key := keyOfDecision(d)
	ended.Requested().release = key
	c.withheld[key] = &withheld{decision: *d, calls: []protocol.CallID{c.answering.call}}
	c.answering = answering{}
	return true
}

// answers reports whether a decision is about this step's call.
func (c *Clients[R]) answers(d *lock.Decision) bool {
	a := &c.answering
	return a.call != (protocol.CallID{}) && d.Session == a.session && (d.Request == a.request || a.request == 0)
}

func keyOfDecision(d *lock.Decision) Key { return Key{d.Session, d.Request, d.Name} }

// decide passes a decision on: the first one about this step's call answers it, and every other goes to its session.
// Queued is reported only if no later decision comes within the step.
func (c *Clients[R]) decide(d *lock.Decision, out *protocol.Effects) {
	a, mine := &c.answering, c.answers(d)
	if d.Kind == lock.Queued {
		if mine {
			queued := *d
			a.queued = &queued
			return
		}
		c.place(d)
	}
	var to protocol.CallID
	if mine {
		to = a.call
		*a = answering{}
	}
	out.Decide(to, d)
}

// place returns a request's place in this member's queue once it is known that it has to wait: behind others here, or
// because a peer defers it. Other members' clients may also be before it; no member counts those.
func (c *Clients[R]) place(d *lock.Decision) {
	if r, known := c.requests[keyOfDecision(d)]; !known || !c.standing.Admitted() || !c.protocol.Knows(r) {
		d.Position = unknownPosition
	}
}

// LetWait notes that a request has to wait, because of a peer.
func (c *Clients[R]) LetWait(r R) {
	if at := r.Requested(); !at.Waits {
		at.Waits = true
		c.Review(r)
	}
}

// Review sees to it that a request's client gets its place if [Protocol].Knows is so of it
// by the end of the step, and was not before.
func (c *Clients[R]) Review(r R) { c.news = append(c.news, r) }

// notifyWaits notifies the requests that are now known to have to wait.
func (c *Clients[R]) notifyWaits(out *protocol.Effects) {
	for _, own := range c.news {
		r := own.Requested()
		if r.notified || r.Try || r.Dropped || r.Held {
			continue
		}
		d, waits := c.table.Queued(r.Key.Session, r.Key.Name, r.Key.ID)
		if !waits {
			continue
		}
		if c.place(&d); d.Position != unknownPosition {
			r.notified = true
			out.Decide(protocol.CallID{}, &d)
		}
	}
	clear(c.news)
	c.news = c.news[:0]
}

// Conclude ends a step: it answers this step's undecided call, and notifies the requests that are now known to have to
// wait.
func (c *Clients[R]) Conclude(out *protocol.Effects) {
	if queued := c.answering.queued; queued != nil {
		c.place(queued)
		if r, known := c.requests[keyOfDecision(queued)]; known {
			at := r.Requested()
			at.notified = at.notified || queued.Position != unknownPosition
		}
		out.Decide(c.answering.call, queued)
	}
	c.notifyWaits(out)
	c.answering = answering{}
	c.notifyClosed(out)
}
