package client

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// step lets the session's machine take an event now, and does what comes of it. The mutex is held.
func (c *Client) step(ev session.Event) { c.stepAt(c.clock.Now(), &ev) }

// stepAt is step at a time that was read with the mutex held.
func (c *Client) stepAt(now time.Duration, ev *session.Event) {
	c.machine.Step(now, ev, &c.effects)
	for i := 0; i < len(c.effects.List); i++ { // an effect may add others
		e := c.effects.List[i]
		if e.Request != nil {
			if r, ours := e.Request.Caller.(*request); ours {
				c.answer(r, &e)
			}
		} else {
			c.react(&e)
		}
	}
	if c.effects.Send && c.stream != nil {
		select {
		case c.stream.wake <- struct{}{}:
		default:
		}
	}
	c.effects.Reset()
	if at := c.machine.Wake(); at != c.wakes {
		c.wakes = at
		c.alarms.arm(&c.due, at)
	}
}

// tick tells the machine that time has passed.
func (c *Client) tick() {
	c.wakes = -1 // it has rung
	c.step(session.Event{Kind: session.Tick})
}

// answer does what is to be done about a request.
func (c *Client) answer(r *request, e *session.Effect) {
	switch e.Kind {
	case session.Hold:
		c.hold(r)
	case session.Fail:
		c.finish(r, nil, r.named(opLock, e.Err))
	case session.TimeOut:
		c.finish(r, nil, r.fail(opLock, c.whyWaited(r)))
	case session.End:
		if !r.lock.End(e.Err) && r.State() == session.Ended {
			c.tellEnded(r)
		}
	case session.Move:
		r.lock.SetHoldEnd(e.At)
		c.tellEnded(r)
	case session.AnswerExtend:
		c.finishExtend(r, e)
	case session.FailRelease:
		c.failRelease(r, r.named("unlock", e.Err))
	case session.Settle:
		if r.Awaited() {
			c.finish(r, nil, r.refusal)
		}
		if r.gone != nil {
			close(r.gone)
		}
	case session.TellQueued:
		if r.queued != nil && !r.notified {
			r.notified = true
			r.queued <- e.Position
		}
	}
}

// hold makes the lock of a grant, for the call that waits.
func (c *Client) hold(r *request) {
	r.lock = holdfast.NewLock(holdfast.Grant{
		Space: r.Space, Name: r.Want.Name, Owner: r.Want.Owner, Shape: r.Want.Shape,
		Token: r.Token(), Grace: r.Grace(),
	}, r.ID, r.HoldEnd(), c.session, r.values)
	c.finish(r, r.lock, nil)
}

// tellEnded tells the machine if the lock of a request has ended otherwise: its holder has seen its deadline pass, or is
// just unlocking it. What comes of it is done with the effects that are being done.
func (c *Client) tellEnded(r *request) {
	if err := r.lock.Check(); err != nil {
		c.machine.Step(c.clock.Now(), &session.Event{Kind: session.Unheld, Request: &r.Request, Err: err}, &c.effects)
	}
}

// finishExtend lets a call of Extend return.
func (c *Client) finishExtend(r *request, e *session.Effect) {
	err := e.Err
	if err == nil {
		err = r.lock.Check() // its old limit may have been seen to end it
	}
	if err != nil {
		err = r.named("extend", err)
	}
	wanted := e.Extension.Caller.(*extension)
	wanted.answer <- err
	close(wanted.done)
}

// react does what is to be done about the session.
func (c *Client) react(e *session.Effect) {
	switch e.Kind {
	case session.Renewed:
		if c.settings.renewed != nil {
			go c.settings.renewed()
		}
	case session.CutTTL:
		c.log.Warn("the ttl of the session is cut", "session", e.Session.ID, "ttl", e.At, "because", e.Session.Cut)
	case session.Late:
		c.onLate(e)
	case session.Forget:
		c.forget(e)
	case session.Finish:
		close(c.ended)
	case session.Quiet:
		if c.quiet != nil {
			close(c.quiet)
			c.quiet = nil
		}
	case session.Unmatched:
		c.log.Warn("the server refused an operation", "id", e.ID, "code", api.Code(e.Err), "detail", e.Err)
	}
}

// forget leaves a session that has ended, and its stream unless that has acknowledged the end.
func (c *Client) forget(e *session.Effect) {
	c.session = nil
	switch {
	case e.Lost:
		c.redirected = false
		c.log.Warn("the session is lost", "session", e.Session.ID, "requests", e.Left)
	case e.Err != nil:
		c.log.Warn("the session was taken over by another client", "session", e.Session.ID, "requests", e.Left)
	default:
		return
	}
	if c.stream != nil {
		c.stream.cancel()
		c.stream = nil
	}
	c.hasten()
}

// onLate lets another stream be opened, beside the one that there is.
func (c *Client) onLate(e *session.Effect) {
	c.log.Warn("no heartbeat is acknowledged", "session", e.Session.ID, "remaining", e.At)
	if c.settings.late != nil {
		go c.notifyLate(c.session, c.session.Deadline())
	}
	if c.stream != nil {
		c.settings.links.doubt(c.stream.link)
	}
	c.hasten()
}

// notifyLate calls what OnLate has set, unless the session was renewed, or has ended,
// before this goroutine came to run.
func (c *Client) notifyLate(s *backing, deadline time.Duration) {
	if remaining := deadline - s.Now(); s.LivesUntil(deadline) {
		c.settings.late(remaining)
	}
}
