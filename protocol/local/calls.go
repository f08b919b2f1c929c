package local

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// patienceOfTry is how long a request that does not wait waits for answers, in units of patience, if Config.Answers is
// zero.
const patienceOfTry = 2

// OnCall handles a request of this member's clients; open reports whether the space is open to them. It reports whether
// the call was one of these.
func (c *Clients[R]) OnCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		c.answering = answering{call: ev.Call, session: fact.Session, request: fact.ID}
		c.acquire(now, fact, out)
	case *protocol.Release:
		c.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request, release: true}
		c.release(now, ev.Call, fact, out)
	case *protocol.Cancel:
		c.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request}
		c.cancel(now, fact, out)
	case *protocol.Extend:
		c.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request}
		c.extend(now, fact, out)
	case *protocol.Amend:
		c.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request}
		c.amend(now, ev.Call, fact, out)
	case *protocol.EndSession:
		c.table.EndSession(now, fact.Session, fact.Why, &c.scratch)
		c.publish(now, out)
	case *protocol.Revoke:
		c.table.RevokeSession(now, fact.Session, fact.Why, fact.Refusal(), &c.scratch)
		c.publish(now, out)
	case *protocol.OpenSpace:
		c.instance.Open(ev.Call, out)
	case *protocol.CloseSpace:
		c.closeSpace(now, ev.Call, out)
	default:
		return admin.OfSession(ev, c.table, out)
	}
	return true
}

// acquire queues a request here, and lets the protocol begin it.
func (c *Clients[R]) acquire(now protocol.Time, q *lock.Request, out *protocol.Effects) {
	if err := c.refusal(q); err != nil {
		d := q.Decision(lock.Refused)
		d.Err = err
		c.scratch = append(c.scratch, d)
		c.publish(now, out)
		return
	}
	if q.WaitEnd <= now && c.protocol.Ready() {
		// It waits for no holder, only for the peers' answers, which are not known before.
		try := *q
		try.Try, try.WaitEnd = true, now+c.patienceOfTry()
		q = &try
	}
	_, known := c.requests[keyOf(q)]
	c.table.Acquire(now, q, &c.scratch)
	if n := len(c.scratch); !known && n > 0 && c.scratch[n-1].Kind == lock.Queued {
		c.enroll(now, q, out)
	}
	c.publish(now, out)
}

func (c *Clients[R]) patienceOfTry() protocol.Time {
	if c.config.Answers != 0 {
		return protocol.Time(c.config.Answers) * c.config.Patience
	}
	return patienceOfTry * c.config.Patience
}

// enroll begins a request that the table has queued.
func (c *Clients[R]) enroll(now protocol.Time, q *lock.Request, out *protocol.Effects) {
	c.arrivals++
	r := c.protocol.Keep(newRequest(q, c.arrivals))
	c.requests[keyOf(q)] = r
	if q.Try {
		c.tries++
	}
	c.protocol.Enroll(now, r, out)
}

// refusal returns the reason to refuse a request outright, or nil.
func (c *Clients[R]) refusal(q *lock.Request) error {
	if _, known := c.requests[keyOf(q)]; known {
		return nil // answered again, regardless of what has changed since
	}
	switch {
	case q.Name == lock.SpaceLock:
		return fmt.Errorf("%w: a space of protocol %s cannot be suspended, because each member speaks for its own clients alone", holdfast.ErrUnsupported, c.config.Protocol)
	case q.Deadlock != holdfast.Ignore:
		return fmt.Errorf("%w: in protocol %s no table has all waits, so a deadlock is not found; ask without deadlock %v, or use protocol central, grantor or consensus",
			holdfast.ErrUnsupported, c.config.Protocol, q.Deadlock)
	case protocol.ID(q.Session.Member) != c.standing.Self:
		return fmt.Errorf("%w: session %v belongs to another member", holdfast.ErrConflict, q.Session)
	case c.instance.Closed():
		return protocol.ErrClosed(c.standing.View, c.standing.Self)
	}
	return c.protocol.Refusal(q)
}

// release releases a hold. Waiting peers are answered in the same step. A repetition, while others do not know of it
// yet, is answered together with the first one.
func (c *Clients[R]) release(now protocol.Time, call protocol.CallID, r *protocol.Release, out *protocol.Effects) {
	held := c.withheld[Key{r.Session, r.Request, r.Name}]
	if held != nil && len(held.calls) < maxCalls && (r.Token == 0 || r.Token == held.decision.Token) {
		held.calls = append(held.calls, call)
		return
	}
	if err := c.table.Release(now, r.Session, r.Name, r.Token, r.Request, &c.scratch); err != nil {
		c.scratch = append(c.scratch, lock.Decision{
			Kind: lock.Refused, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Err: err,
		})
	}
	c.publish(now, out)
}

// withheld is a release whose answer waits until others have heard of it.
type withheld struct {
	decision lock.Decision
	calls    []protocol.CallID
}

// maxCalls is the maximum number of calls that wait for one release.
const maxCalls = 16

// AnswerLater keeps the answer to a release, after the table has ended the hold, for NotifyReleased.
func (c *Clients[R]) AnswerLater(own R, call protocol.CallID, d *lock.Decision) {
	key := keyOfDecision(d)
	own.Requested().release = key
	c.withheld[key] = &withheld{decision: *d, calls: []protocol.CallID{call}}
}

// NotifyReleased answers the client whose release was withheld. For any other hold it does nothing.
func (c *Clients[R]) NotifyReleased(own R, out *protocol.Effects) {
	key := own.Requested().release
	if held := c.withheld[key]; held != nil {
		delete(c.withheld, key)
		for _, call := range held.calls {
			out.Decide(call, &held.decision)
		}
	}
}

// cancel ends a request permanently. Later answers of peers have no effect.
func (c *Clients[R]) cancel(now protocol.Time, r *protocol.Cancel, out *protocol.Effects) {
	if !c.table.Cancel(now, r.Session, r.Name, r.Request, &c.scratch) {
		c.scratch = append(c.scratch, lock.Decision{Kind: lock.Released, Session: r.Session, Request: r.Request, Name: r.Name})
	}
	c.publish(now, out)
}

// extend replaces a hold limit.
func (c *Clients[R]) extend(now protocol.Time, r *protocol.Extend, out *protocol.Effects) {
	d := lock.Decision{Kind: lock.Granted, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Hold: r.Hold}
	if err := c.table.Extend(now, r.Session, r.Name, r.Token, r.Hold); err != nil {
		d.Kind, d.Err = lock.Refused, err
	}
	c.scratch = append(c.scratch, d)
	c.publish(now, out)
}

// closeSpace notifies all clients to stop (protocol.CloseSpace), and accepts nothing new. As a peer the member
// continues to answer, because without its answers no member could enter.
func (c *Clients[R]) closeSpace(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	if !c.instance.Close(call, c.config.Operators, out) {
		return
	}
	for _, s := range c.table.SessionsOf(uint64(c.standing.Self)) {
		c.table.RevokeSession(now, s, holdfast.SpaceClosed, protocol.ErrClosed(c.standing.View, c.standing.Self), &c.scratch)
	}
	c.publish(now, out)
}

// notifyClosed answers the callers that have closed the space: nothing of this member's is left.
func (c *Clients[R]) notifyClosed(out *protocol.Effects) {
	if c.instance.Awaited() && c.table.Holds()+c.table.Waiters() == 0 && c.protocol.Settled() {
		c.instance.Conclude(out)
	}
}
