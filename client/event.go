package client

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// onFrame takes all that the server said on the stream. The calls that this ends return
// when all of it was taken, and not before the mutex is free: they all want it next.
func (c *Client) onFrame(on *stream, events []*schema.Event) {
	decided := c.take(on, events)
	for i, r := range decided {
		decided[i] = nil
		r.outcome <- r.result
	}
}

// take takes events, and returns the requests whose calls are to return, in memory of the
// stream, which one goroutine reads.
func (c *Client) take(on *stream, events []*schema.Event) (decided []*request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading, c.decided = true, on.decided[:0]
	defer func() { c.reading, c.decided = false, nil }()
	for _, event := range events {
		if c.stream != on {
			break // the session has ended by an event before
		}
		c.onEvent(event)
	}
	on.decided = c.decided
	return c.decided
}

func (c *Client) onEvent(event *schema.Event) {
	id := event.GetId()
	r := c.requests[id]
	switch kind := event.GetKind().(type) {
	case *schema.Event_Beat:
		c.onBeaten(id, kind.Beat)
	case *schema.Event_Moved:
		c.learn(kind.Moved.GetAuthority(), kind.Moved.GetMembers())
	case *schema.Event_Refused:
		c.onRefused(id, r, kind.Refused.GetProblem())
	case *schema.Event_Released:
		if id != 0 && id == c.endID {
			c.onEnded()
		} else if r != nil {
			c.onReleased(r, kind.Released.GetProblem())
		}
	default:
		if r != nil {
			c.onAnswer(r, event)
		}
	}
}

// onAnswer takes what only a request of ours can be told.
func (c *Client) onAnswer(r *request, event *schema.Event) {
	switch kind := event.GetKind().(type) {
	case *schema.Event_Granted:
		c.onGranted(r, kind.Granted)
	case *schema.Event_Queued:
		c.onQueued(r, kind.Queued)
	case *schema.Event_Lost:
		c.onLost(r, kind.Lost)
	case *schema.Event_Extended:
		c.onExtended(r, kind.Extended)
	}
}

// onBeaten moves the deadline: to the ttl after this very beat was sent. The answers
// to beats before it say nothing new.
func (c *Client) onBeaten(id uint64, beaten *schema.Beaten) {
	sent, known := c.beats[id]
	if !known {
		return
	}
	for earlier := range c.beats {
		if earlier <= id {
			delete(c.beats, earlier)
		}
	}
	c.noteCut(time.Duration(beaten.GetTtl()), beaten.GetTtlCut())
	c.answers.note(c.clock.Now() - sent)
	c.acknowledged(sent, time.Duration(beaten.GetTtl()))
}

// noteCut notes why a heartbeat was answered with a shorter ttl than was asked for, and logs when that begins.
func (c *Client) noteCut(ttl time.Duration, why string) {
	if why != "" && c.session.cut == "" {
		c.log.Warn("the ttl of the session is cut", "session", c.session.id, "ttl", ttl, "because", why)
	}
	c.session.cut = why
}

// acknowledged renews the session by the answer to what was sent at the time sent.
func (c *Client) acknowledged(sent, ttl time.Duration) bool {
	s := c.session
	if !s.renew(sent, ttl) {
		c.lose(s)
		return false
	}
	s.ttl, s.anchor, c.doubted = ttl, sent, false
	if c.settings.renewed != nil {
		go c.settings.renewed()
	}
	c.alarms.arm(&c.deadline, s.Deadline())
	c.alarms.arm(&c.late, sent+c.answers.lateAfter(ttl))
	return true
}

// onGranted makes the lock. A grant that the call no longer waits for is undone by
// the cancel or the release that is under way.
func (c *Client) onGranted(r *request, granted *schema.Granted) {
	if r.state != requested || r.unsent {
		return
	}
	holdEnd := holdfast.Forever
	if hold := time.Duration(granted.GetHold()); hold > 0 {
		holdEnd = after(r.sent, hold)
	}
	if r.bound.token == holdfast.Token(granted.GetToken()) {
		holdEnd = min(holdEnd, r.bound.end)
	}
	if r.limit.token == holdfast.Token(granted.GetToken()) {
		holdEnd = min(holdEnd, after(r.sent, r.limit.hold))
	} else {
		r.limit = limit{}
	}
	c.alarms.disarm(&r.guard)
	r.state, r.waiting, r.holdEnd, r.grace = held, false, holdEnd, granted.GetGrace()
	r.lock = holdfast.NewLock(holdfast.Grant{
		Space: r.space, Name: r.want.Name, Owner: r.want.Owner, Shape: r.want.Shape,
		Token: holdfast.Token(granted.GetToken()),
		Grace: granted.GetGrace(),
	}, r.id, holdEnd, c.session, r.values)
	if holdEnd != holdfast.Forever {
		c.armHoldEnd(r)
	}
	c.finish(r, r.lock, nil)
}

// armHoldEnd sets the guard of a lock to the end of its hold limit.
func (c *Client) armHoldEnd(r *request) {
	r.guard.Ring = func() { c.onHoldEnd(r) }
	c.alarms.arm(&r.guard, r.holdEnd)
}

// onHoldEnd ends a lock at its hold limit and lets the authority know, so that the
// name is free as soon as it can be: at once, unless it has a grace in which its holder can
// stop. Then the authority ends it, and begins the grace.
func (c *Client) onHoldEnd(r *request) {
	if r.state != held {
		return
	}
	err := r.lock.Check()
	if err == nil {
		return
	}
	r.finishExtend(err)
	if !r.grace || holdfast.Why(err) != holdfast.HoldLimit {
		c.concede(r)
		return
	}
	r.state = ended
	// The word of that may be lost with the stream. After twice the limit, by any clock, the
	// authority has ended it.
	r.guard.Ring = func() { c.settle(r) }
	c.alarms.arm(&r.guard, after(r.holdEnd, r.holdEnd-r.sent))
}

func (c *Client) onQueued(r *request, queued *schema.Queued) {
	if r.state != requested {
		return
	}
	r.waiting = queued.GetPosition() >= 0 // before that its member looks for the authority
	if r.queued != nil && !r.notified {
		r.notified = true
		r.queued <- int(queued.GetPosition())
	}
}

// onLost ends a lock, then says that it has stopped if the authority waits for that.
func (c *Client) onLost(r *request, lost *schema.Lost) {
	why := holdfast.Loss(lost.GetWhy())
	if why == holdfast.SessionExpired {
		c.lose(c.session)
		return
	}
	switch r.state {
	case requested:
		// Its grant was not told, or not in time, and has ended. The acquire may have been
		// sent again since and be granted anew, and then no caller would hold the grant:
		// so the acquire is cancelled, which releases any grant that it has.
		c.finish(r, nil, r.fail(opLock, why))
		c.cancel(r)
	case held:
		r.lock.End(why)
		r.finishExtend(r.fail("extend", why))
		if !lost.GetMustRelease() {
			c.settle(r)
			return
		}
		c.concede(r)
	case ended:
		if !lost.GetMustRelease() {
			c.settle(r)
		}
	case releasing:
		r.loss = why // its answer is still to come
	}
}

// onReleased takes the answer to a release or to a cancel.
func (c *Client) onReleased(r *request, problem *schema.Problem) {
	if ofSession(problem) {
		c.lose(c.session)
		return
	}
	if problem.GetCode() == api.CodeLimit && (r.state == releasing || r.state == cancelling) {
		c.sayLater(r)
		return
	}
	switch r.state {
	case releasing:
		r.refused = problem != nil
		if problem != nil && !r.quiet {
			c.refusedRelease(r, problem)
		}
		c.settle(r)
	case cancelling:
		c.settle(r)
	}
}

// laterPause is after how long a release is sent again that came too soon.
const laterPause = time.Second

// sayLater sends a release or a cancel again that was refused because this client has asked
// for too much at once: what it gives back would stay taken otherwise.
func (c *Client) sayLater(r *request) {
	kind := sendRelease
	if r.state == cancelling {
		kind = sendCancel
	}
	r.guard.Ring = func() { c.push(kind, r) }
	c.alarms.arm(&r.guard, c.clock.Now()+laterPause)
}

// refusedRelease tells why a release was refused. That a release which was sent
// twice is of something not held means that its first copy has acted: had the lock
// been lost, the authority would have told that before.
func (c *Client) refusedRelease(r *request, problem *schema.Problem) {
	if r.copies > 1 && r.loss == "" && problem.GetCode() == api.CodeNotHeld {
		return
	}
	err := c.problemError(r, "unlock", problem)
	if r.loss != "" {
		err = r.fail("unlock", r.loss)
	}
	c.failRelease(r, err)
}

// failRelease tells why a release was not taken: the call of Unlock that waits for it, or
// else Settle, which tells the first one.
func (c *Client) failRelease(r *request, err error) {
	switch {
	case r.unlocks:
		r.refusal = err
	case c.refused == nil:
		c.refused = err
	}
}

// problemError makes the error of a problem, and names the lock where the problem does not.
func (c *Client) problemError(r *request, op string, problem *schema.Problem) error {
	if problem == nil {
		problem = &schema.Problem{Code: api.CodeInternal, Detail: "refused without a reason"}
	}
	err := api.FromProblem(op, problem).(*holdfast.Error)
	err.Space, err.Name = r.space, r.want.Name
	return err
}

// ofSession says whether it is the whole session that is gone, regardless of what the
// server was asked.
func ofSession(problem *schema.Problem) bool {
	return problem.GetCode() == api.CodeUnknownSession ||
		problem.GetCode() == api.CodeLost && problem.GetWhy() == string(holdfast.SessionExpired)
}

// onRefused takes a refusal of the request or other operation that the id names.
func (c *Client) onRefused(id uint64, r *request, problem *schema.Problem) {
	if ofSession(problem) {
		c.lose(c.session)
		return
	}
	switch {
	case id != 0 && id == c.endID:
		c.onEnded()
	case r == nil:
		c.log.Warn("the server refused an operation", "id", id, "code", problem.GetCode(), "detail", problem.GetDetail())
	case r.state == requested:
		r.refused = true
		c.finish(r, nil, c.problemError(r, opLock, problem))
		c.settle(r)
	case r.behind:
		c.onExtendRefused(r, problem)
	default:
		c.onReleased(r, problem)
	}
}
