package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// maxUnsent is the maximum number of acquires that no stream has sent yet.
const maxUnsent = 100_000

// contextGrace is how long a call waits for the authority's answer after its context's deadline has passed.
const contextGrace = 250 * time.Millisecond

// request is one acquire and the call that waits for it. The Client's mutex guards it, except for the channels and the
// fields that never change.
type request struct {
	session.Request
	values context.Context

	notified bool // Queued has been called
	lock     *holdfast.Lock
	refusal  error // why the release was refused, for the call that waits for it

	result  outcome       // the call's result, once decided
	outcome chan outcome  // receives it, once; another one receives Unlock's result
	queued  chan int      // receives the position, once; nil if no caller wants it
	gone    chan struct{} // closed when it is settled; nil if no call waits for that
}

// outcome is the result of a call.
type outcome struct {
	lock *holdfast.Lock
	err  error
}

// extension is a call that requests another hold limit.
type extension struct {
	session.Extension
	answer chan error
	done   chan struct{} // closed when it is answered
}

// amending is a call for an amendment.
type amending struct {
	session.Amending
	answer chan error
}

func (r *request) fail(op string, err error) error {
	return &holdfast.Error{Op: op, Space: r.Space, Name: r.Want.Name, Err: err}
}

// named wraps err in the error of an operation, and adds the lock's name if a member has not.
func (r *request) named(op string, err error) error {
	if said, ok := err.(*holdfast.Error); ok {
		err = said.Err
	}
	return r.fail(op, err)
}

// request returns the unsettled request with that id that a call has made, or nil.
func (c *Client) request(id uint64) *request {
	if r := c.machine.Request(id); r != nil {
		made, _ := r.Caller.(*request)
		return made
	}
	return nil
}

// finish makes the call return: at once, or with the others of the frame being read, see onFrame.
func (c *Client) finish(r *request, lock *holdfast.Lock, err error) {
	if c.reading {
		r.result = outcome{lock, err}
		c.decided = append(c.decided, r)
		return
	}
	r.outcome <- outcome{lock, err}
}

// enter queues a request for a lock.
func (c *Client) enter(ctx context.Context, space string, want holdfast.Request, end time.Duration) (*request, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &request{Request: session.Request{Space: space, Want: want, WaitEnd: end}, values: ctx}
	r.Caller = r
	switch {
	case c.machine.Closing():
		return nil, r.fail(opLock, holdfast.ErrClosed)
	case c.machine.Taken() != nil:
		return nil, r.fail(opLock, c.machine.Taken())
	case c.machine.Unsent() >= maxUnsent:
		return nil, r.fail(opLock, &holdfast.LimitError{Limit: "client_queue", Value: maxUnsent})
	}
	r.outcome = c.outcomes.Get().(chan outcome)
	if want.Queued != nil {
		r.queued = make(chan int, 1)
	}
	c.limitWait(r)
	c.stepAt(c.now, &session.Event{Kind: session.Lock, Request: &r.Request})
	return r, nil
}

// waitEnd returns when the wait of a call made now ends, by its own limit.
func (c *Client) waitEnd(want *holdfast.Request) time.Duration {
	return session.WaitEnd(c.clock.Now(), want)
}

// clearlySooner is how far a context's deadline must be before a wait limit to replace it. A caller that gives both the
// same length means the wait limit.
const clearlySooner = time.Second

// limitWait ends a call's wait at the deadline of its context, if that is clearly sooner than its wait limit. The
// authority knows that moment and can name the holder then; a context cannot.
func (c *Client) limitWait(r *request) {
	if deadline, bounded := r.values.Deadline(); bounded && !r.Want.Try {
		if end := session.After(c.clock.Now(), max(0, time.Until(deadline))); session.After(end, clearlySooner) < r.WaitEnd {
			r.WaitEnd, r.Bounded = end, true
		}
	}
}

// whyWaited returns why a wait limit ended without a lock, as far as is known here.
func (c *Client) whyWaited(r *request) error {
	switch {
	case r.Waiting():
		return holdfast.ErrHeld
	case c.stream != nil:
		return fmt.Errorf("%w: %s has not reported the outcome of the request", holdfast.ErrUnavailable, c.stream.Place)
	case len(c.attempts.attempts) > 0:
		return c.attempts.error(nil)
	}
	return fmt.Errorf("%w: the connection to %s has ended", holdfast.ErrUnavailable, c.machine.Last())
}

// awaitOutcome waits, beyond the deadline of a call's context, for the authority's answer.
func (c *Client) awaitOutcome(r *request) (got outcome, decided bool) {
	c.mu.Lock()
	may := r.Bounded && c.machine.MayAnswer(&r.Request)
	c.mu.Unlock()
	if !may {
		return outcome{}, false
	}
	timer := time.NewTimer(contextGrace)
	defer timer.Stop()
	select {
	case got = <-r.outcome:
		return got, true
	case <-timer.C:
		return outcome{}, false
	}
}

// whyEnded joins the error of a context that has ended a call with the authority's answer so far.
func (c *Client) whyEnded(r *request, reason error) error {
	if r.Bounded && (errors.Is(reason, holdfast.ErrHeld) || errors.Is(reason, holdfast.ErrUnavailable) && c.clock.Now() >= r.WaitEnd) {
		return fmt.Errorf("%w: %w", reason, context.DeadlineExceeded)
	}
	return reason
}

// abandon cancels a request whose call's context has ended. It releases a grant that has already arrived.
func (c *Client) abandon(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(session.Event{Kind: session.GiveUp, Request: &r.Request})
}
