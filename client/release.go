package client

import (
	"context"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// unlock releases a lock that has just ended here, and waits until the authority has taken
// that. Where ctx ends before, the release goes on, and what becomes of it Settle tells.
func (c *Client) unlock(ctx context.Context, s *session, l *holdfast.Lock) error {
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
	answered := r.state == settled
	r.unlocks = false
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
func (c *Client) beginUnlock(s *session, l *holdfast.Lock, wait bool) (*request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.requests[l.Request()]
	if (r == nil || r.state == ended) && c.session == s && holdfast.Why(l.Check()) == holdfast.HoldLimit {
		r = c.stopped(l, r)
	} else if r == nil || r.lock != l || r.state != held {
		return nil, &holdfast.Error{Op: "unlock", Space: l.Space(), Name: l.Name(), Err: c.whyGone(s)}
	}
	if wait {
		r.unlocks, r.outcome = true, c.outcomes.Get().(chan outcome)
	}
	c.release(r)
	return r, nil
}

// stopped returns the request of a lock that its hold limit has ended, and whose name has a
// grace: its holder says that it has stopped. Whether that was in time is no news.
func (c *Client) stopped(l *holdfast.Lock, r *request) *request {
	if r == nil {
		r = &request{id: l.Request(), space: l.Space(), want: holdfast.Request{Name: l.Name()}, lock: l}
		c.requests[r.id] = r
	}
	r.quiet = true
	return r
}

// whyGone says why a lock that its own Lock took for held is not in the table.
func (c *Client) whyGone(s *session) error {
	switch {
	case c.closing:
		return holdfast.ErrClosed
	case c.taken != nil:
		return c.taken
	case !s.alive():
		return holdfast.SessionExpired
	}
	return holdfast.ErrNotHeld
}

// extend replaces a hold limit. It is the grant's, so it holds for every lock that an
// owner has under it, and calls for one grant wait for one another.
func (c *Client) extend(ctx context.Context, s *session, l *holdfast.Lock, hold time.Duration) error {
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
func (c *Client) queueExtend(s *session, l *holdfast.Lock, hold time.Duration) (*extension, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.requests[l.Request()]
	switch {
	case r == nil || r.lock != l || r.state != held:
		return nil, nil, c.whyGone(s)
	}
	mates := c.mates(r)
	for _, mate := range mates {
		if mate.extend != nil {
			return nil, mate.extend.done, nil
		}
	}
	c.extends = true
	wanted := &extension{hold: hold, unsent: true, before: r.holdEnd, answer: make(chan error, 1), done: make(chan struct{})}
	r.extend = wanted
	// A shorter limit holds from here on: the authority may act on it before its
	// answer is here.
	if end := after(c.clock.Now(), hold); hold > 0 {
		for _, mate := range mates {
			if end < mate.holdEnd {
				c.setHoldEnd(mate, end)
			}
		}
		c.bind(r, min(end, wanted.before))
	}
	c.push(sendExtend, r)
	return wanted, nil, nil
}

// onExtended takes a new hold limit, which counts from the sending of the extend.
func (c *Client) onExtended(r *request, extended *schema.Extended) {
	r.behind, r.limit = false, limit{}
	if r.state != held || r.extend == nil || r.extend.unsent {
		return
	}
	end := holdfast.Forever
	if hold := time.Duration(extended.GetHold()); hold > 0 {
		end = after(r.extend.sent, hold)
	}
	c.setHoldEnds(r, end)
	for _, mate := range c.mates(r) {
		mate.limit = limit{} // what was asked before has been done before
	}
	if r.state == held {
		r.finishExtend(nil)
	}
}

// onExtendRefused puts the old limit back.
func (c *Client) onExtendRefused(r *request, problem *schema.Problem) {
	r.behind, r.limit = false, limit{}
	if r.state != held || r.extend == nil {
		return
	}
	refused := c.problemError(r, "extend", problem)
	c.setHoldEnds(r, r.extend.before)
	if r.state == held {
		r.finishExtend(refused)
	}
}

// mates returns the requests by which the grant of r is held: more than one where a
// named owner has entered it again.
func (c *Client) mates(r *request) []*request {
	if r.want.Owner == "" {
		return []*request{r}
	}
	var mates []*request
	for _, mate := range c.requests {
		if mate.state == held && mate.space == r.space && mate.want.Name == r.want.Name && mate.lock.Token() == r.lock.Token() {
			mates = append(mates, mate)
		}
	}
	return mates
}

// setHoldEnds moves the end of the hold limit of the grant of r.
func (c *Client) setHoldEnds(r *request, end time.Duration) {
	for _, mate := range c.mates(r) {
		c.setHoldEnd(mate, end)
	}
	c.bind(r, end)
}

// bind lets the owner's requests that are not answered yet know until when the grant of r
// may be believed in: they may have entered it before its limit was moved, and be told
// after that what was left of it then, even when r itself has ended meanwhile.
func (c *Client) bind(r *request, end time.Duration) {
	if r.want.Owner == "" {
		return
	}
	for _, other := range c.requests {
		if other.state == requested && other.space == r.space && other.want.Name == r.want.Name && other.want.Owner == r.want.Owner {
			other.bound = bound{r.lock.Token(), end}
		}
	}
}

// inherit lets a new request know of the extends that its owner has asked for, and that it may overtake.
func (c *Client) inherit(r *request) {
	for _, other := range c.requests {
		if other.limit.token == 0 || other.space != r.space || other.want.Name != r.want.Name || other.want.Owner != r.want.Owner {
			continue
		}
		if l := other.limit; l.token > r.limit.token || l.token == r.limit.token && l.hold < r.limit.hold {
			r.limit = l
		}
	}
}

// setHoldEnd moves the end of a hold limit. A lock that has ended by the old one
// meanwhile stays ended, and is released.
func (c *Client) setHoldEnd(r *request, end time.Duration) {
	r.holdEnd = end
	r.lock.SetHoldEnd(end)
	if end == holdfast.Forever {
		c.alarms.disarm(&r.guard)
	} else {
		c.armHoldEnd(r)
	}
	c.onHoldEnd(r)
}

// Settle waits until every release is acknowledged that UnlockAsync has queued, or that an
// Unlock was given up on. The error is the first one of a release that was refused since the
// last Settle, an ErrNotHeld or ErrLost, unless an Unlock has told it; or that of ctx.
func (c *Client) Settle(ctx context.Context) error {
	c.mu.Lock()
	if c.releases > 0 && c.quiet == nil {
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
