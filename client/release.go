package client

import (
	"context"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// unlock releases a lock that has just ended here, and waits until the authority has taken
// that. Where ctx ends before, the release goes on, and what becomes of it Settle tells.
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
		got := <-r.outcome // it is there, or comes with the rest of its frame
		c.outcomes.Put(r.outcome)
		return got.err
	}
	return ctx.Err()
}

// beginUnlock queues the release of a lock that has just ended here. With wait the
// request's outcome is what becomes of it.
func (c *Client) beginUnlock(s *backing, l *holdfast.Lock, wait bool) (*request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ev := c.request(l.Request()), session.Event{Kind: session.Unlock, Awaited: wait, Token: l.Token()}
	if (r == nil || r.State() == session.Ended) && c.session == s && holdfast.Why(l.Check()) == holdfast.HoldLimit {
		// Its name has a grace: its holder says that it has stopped.
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

// whyGone says why a lock that its own Lock took for held is not in the table.
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

// extend replaces a hold limit. It is the grant's, so it holds for every lock that an
// owner has under it, and calls for one grant wait for one another.
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

// queueExtend queues an extend. If the answer to another one is still due, it returns what
// is closed by that answer instead.
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

// Settle waits until every release is acknowledged that UnlockAsync has queued, or that an
// Unlock was given up on. The error is the first one of a release that was refused since the
// last Settle, an ErrNotHeld or ErrLost, unless an Unlock has returned it; or that of ctx.
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
