package client

import (
	"context"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// unlock releases a lock that has just ended here, and waits until the authority has accepted the release. If ctx ends
// first, the release continues, and Settle reports its result.
func (c *Client) unlock(ctx context.Context, s *backing, l *holdfast.Lock) error {
	r, err := c.beginUnlock(s, l, true)
	if err != nil {
		return err
	}
	select {
	case got := <-r.outcome:
		c.outcomes.Put(r.outcome)
		return got.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	answered := r.State() == session.Settled
	c.step(session.Event{Kind: session.Unawait, Request: &r.Request})
	c.mu.Unlock()
	if answered {
		got := <-r.outcome // it is there, or arrives with the rest of its frame
		c.outcomes.Put(r.outcome)
		return got.err
	}
	return ctx.Err()
}

// beginUnlock queues the release of a lock that has just ended here. With wait, the request's outcome channel receives
// the result.
func (c *Client) beginUnlock(s *backing, l *holdfast.Lock, wait bool) (*request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ev := c.request(l.Request()), session.Event{Kind: session.Unlock, Awaited: wait, Token: l.Token()}
	if (r == nil || r.State() == session.Ended) && c.session == s && holdfast.Why(l.Check()) == holdfast.HoldLimit {
		// The name has a grace: this reports that the holder has stopped.
		if ev.Stopped = true; r == nil {
			r = &request{Request: session.Request{ID: l.Request(), Space: l.Space(), Want: holdfast.Request{Name: l.Name()}}, lock: l}
			r.Caller = r
		}
	} else if r == nil || r.lock != l || r.State() != session.Held {
		return nil, &holdfast.Error{Op: "unlock", Space: l.Space(), Name: l.Name(), Err: c.whyGone(s)}
	}
	if wait {
		r.outcome = c.outcomes.Get().(chan outcome)
	}
	ev.Request = &r.Request
	c.stepAt(c.now, &ev)
	return r, nil
}

// whyGone returns why a lock that its own Lock considers held is not in the table.
func (c *Client) whyGone(s *backing) error {
	switch {
	case c.machine.Closing():
		return holdfast.ErrClosed
	case c.machine.Taken() != nil:
		return c.machine.Taken()
	case !s.alive():
		return holdfast.SessionExpired
	}
	return holdfast.ErrNotHeld
}

// extend replaces a hold limit. The limit belongs to the grant, so it applies to every lock that an owner has under it,
// and calls for one grant wait for one another.
func (c *Client) extend(ctx context.Context, s *backing, l *holdfast.Lock, hold time.Duration) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wanted, before, err := c.queueExtend(s, l, hold)
		if err != nil {
			return &holdfast.Error{Op: "extend", Space: l.Space(), Name: l.Name(), Err: err}
		}
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
			continue
		}
		select {
		case err := <-wanted.answer:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// queueExtend queues an extend. If another one is still unanswered, it returns a channel that is closed by that answer
// instead.
func (c *Client) queueExtend(s *backing, l *holdfast.Lock, hold time.Duration) (*extension, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.request(l.Request())
	if r == nil || r.lock != l || r.State() != session.Held {
		return nil, nil, c.whyGone(s)
	}
	if before := c.machine.ExtendingMate(&r.Request); before != nil {
		return nil, before.Caller.(*extension).done, nil
	}
	wanted := &extension{answer: make(chan error, 1), done: make(chan struct{})}
	wanted.Caller = wanted
	c.step(session.Event{Kind: session.Extend, Request: &r.Request, Extension: &wanted.Extension, Span: hold})
	return wanted, nil, nil
}

// opAmend is the operation of an amendment, in errors.
const opAmend = "set value"

// amend amends a grant. A call that a later one replaces before it is answered returns with that one.
func (c *Client) amend(ctx context.Context, s *backing, l *holdfast.Lock, a holdfast.Amendment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wanted, err := c.queueAmend(s, l, a)
	if err != nil {
		return &holdfast.Error{Op: opAmend, Space: l.Space(), Name: l.Name(), Err: err}
	}
	select {
	case err := <-wanted.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// queueAmend queues an amendment.
func (c *Client) queueAmend(s *backing, l *holdfast.Lock, a holdfast.Amendment) (*amending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.request(l.Request())
	if r == nil || r.lock != l || r.State() != session.Held {
		return nil, c.whyGone(s)
	}
	wanted := &amending{answer: make(chan error, 1)}
	wanted.Caller = wanted
	c.step(session.Event{Kind: session.Amend, Request: &r.Request, Amending: &wanted.Amending, Value: a.Value})
	return wanted, nil
}

// Settle waits until every release is acknowledged that UnlockAsync queued, or whose Unlock gave up waiting. The error
// is that of the first release refused since the last Settle (an ErrNotHeld or ErrLost), unless an Unlock has already
// returned it; or that of ctx.
func (c *Client) Settle(ctx context.Context) error {
	c.mu.Lock()
	if c.machine.Releases() > 0 && c.quiet == nil {
		c.quiet = make(chan struct{})
	}
	quiet := c.quiet
	c.mu.Unlock()
	if quiet != nil {
		select {
		case <-quiet:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.refused
	c.refused = nil
	return err
}
