package client

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// step passes an event to the session's machine with the current time, and carries out its effects. The caller holds
// the mutex.
func (c *Client) step(ev session.Event) { c.stepAt(c.readClock(), &ev) }

// readClock reads the clock. The caller holds the mutex.
func (c *Client) readClock() time.Duration {
	c.now = c.clock.Now()
	return c.now
}

// stepAt is step at a time that was read with the mutex held. A lock request and a release have no time of their own
// except that of sending, so the latest reading is enough for them.
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

// tick passes the current time to the machine.
func (c *Client) tick() {
	c.wakes = -1 // it has rung
	c.step(session.Event{Kind: session.Tick})
}

// answer carries out an effect on a request.
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
	case session.AnswerAmend:
		err := e.Err
		if err != nil {
			err = r.named(opAmend, err)
		}
		e.Amending.Caller.(*amending).answer <- err
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
			r.queued <- int(e.Position)
		}
	}
}

// hold makes the lock of a grant, for the waiting call.
func (c *Client) hold(r *request) {
	r.lock = holdfast.NewLock(holdfast.Grant{
		Space: r.Space, Name: r.Want.Name, Owner: r.Want.Owner, Shape: r.Want.Shape,
		Token: r.Token(), Grace: r.Grace(),
	}, r.ID, r.HoldEnd(), c.session, r.values)
	c.finish(r, r.lock, nil)
}

// tellEnded informs the machine if the lock of a request has ended locally: its holder has seen its deadline pass, or
// is just unlocking it. The effects are carried out with those in progress.
func (c *Client) tellEnded(r *request) {
	if err := r.lock.Check(); err != nil {
		c.machine.Step(c.clock.Now(), &session.Event{Kind: session.Unheld, Request: &r.Request, Err: err}, &c.effects)
	}
}

// finishExtend makes a call of Extend return.
func (c *Client) finishExtend(r *request, e *session.Effect) {
	err := e.Err
	if err == nil {
		err = r.lock.Check() // the old limit may already have ended the lock
	}
	if err != nil {
		err = r.named("extend", err)
	}
	wanted := e.Extension.Caller.(*extension)
	wanted.answer <- err
	close(wanted.done)
}

// react carries out an effect on contacts, the stream or the session.
func (c *Client) react(e *session.Effect) {
	switch e.Kind {
	case session.Ask:
		c.ask(e.Contact)
	case session.LetGo, session.Refuse, session.HangUp:
		if a, asked := e.Contact.Caller.(*contact); asked {
			c.leave(a, e)
		}
	case session.Serve:
		c.enterSession(e)
	case session.Begun:
		c.begin(e.Err)
	case session.Renewed:
		if c.settings.renewed != nil {
			go c.settings.renewed()
		}
	case session.CutTTL:
		c.log.Warn("the ttl of the session is shortened", "session", e.Session.ID, "ttl", e.At, "because", e.Session.Cut)
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

// ask starts a goroutine for a new contact, unless the Client has ended.
func (c *Client) ask(of *session.Contact) {
	if c.ctx.Err() != nil {
		return
	}
	a := c.newContact(of)
	c.attempts.begin(a.Place)
	c.work.Go(func() { c.attend(a) })
}

// leave ends a contact or a stream.
func (c *Client) leave(a *contact, e *session.Effect) {
	switch e.Kind {
	case session.Refuse:
		a.refusal, a.opened = e.Err, e.Opened // the goroutine that read the frame leaves the stream
	case session.LetGo:
		if e.At > 0 {
			time.AfterFunc(e.At, a.cancel)
			return
		}
		a.cancel()
	case session.HangUp:
		c.stream = nil
		a.cancel()
	}
}

// enterSession makes a contact's stream the current one.
func (c *Client) enterSession(e *session.Effect) {
	c.stream = e.Contact.Caller.(*contact)
	if c.session == nil || c.session.Session != e.Session {
		c.session = &backing{client: c, Session: e.Session}
	}
	c.attempts.attempts, c.durable = nil, e.Welcome.GetDurable()
	c.log.Info("connected", "address", c.stream.Place, "member", e.Session.Member, "session", e.Session.ID)
}

// forget clears the state of a session that has ended.
func (c *Client) forget(e *session.Effect) {
	c.session = nil
	switch {
	case e.Lost:
		c.log.Warn("the session is lost", "session", e.Session.ID, "requests", e.Left)
	case e.Err != nil:
		c.log.Warn("the session was taken over by another client", "session", e.Session.ID, "requests", e.Left)
	}
}

// failRelease reports why a release was refused: to the call of Unlock that waits for it, or else to Settle, which
// returns the first one.
func (c *Client) failRelease(r *request, err error) {
	switch {
	case r.Awaited():
		r.refusal = err
	case c.refused == nil:
		c.refused = err
	}
}

// onLate logs that another stream is being opened, in addition to the current one.
func (c *Client) onLate(e *session.Effect) {
	c.log.Warn("heartbeats are not acknowledged", "session", e.Session.ID, "remaining", e.At)
	if c.settings.late != nil {
		go c.notifyLate(c.session, c.session.Deadline())
	}
	if c.stream != nil {
		c.settings.links.doubt(c.stream.link)
	}
}

// notifyLate calls the function set by OnLate, unless the session was renewed or has ended before this goroutine runs.
func (c *Client) notifyLate(s *backing, deadline time.Duration) {
	if remaining := deadline - s.Now(); s.LivesUntil(deadline) {
		c.settings.late(remaining)
	}
}
