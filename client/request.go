package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// maxUnsent bounds the acquires that no stream has taken yet.
const maxUnsent = 100_000

// contextGrace is how long a call whose context's deadline has passed waits for the word of the authority.
const contextGrace = 250 * time.Millisecond

// request is one acquire and the call that waits for it. The Client's mutex guards it but
// for the channels, and what never changes.
type request struct {
	session.Request
	values context.Context

	notified bool // Queued has been called
	lock     *holdfast.Lock
	refusal  error // why the release was refused, for the call that waits for that

	result  outcome       // what the call returns, once it is decided
	outcome chan outcome  // gets it, once; another one gets what Unlock returns
	queued  chan int      // gets the position, once; nil where no caller wants it
	gone    chan struct{} // closed when it is settled; nil where no call waits for that
}

// outcome is what a call returns.
type outcome struct {
	lock *holdfast.Lock
	err  error
}

// extension is a call that wants another hold limit.
type extension struct {
	session.Extension
	answer chan error
	done   chan struct{} // closed when it is answered
}

func (r *request) fail(op string, err error) error {
	return &holdfast.Error{Op: op, Space: r.Space, Name: r.Want.Name, Err: err}
}

// named makes the error of an operation of err, and names the lock where a member has not.
func (r *request) named(op string, err error) error {
	if said, ok := err.(*holdfast.Error); ok {
		err = said.Err
	}
	return r.fail(op, err)
}

// request returns a request that is not settled and that a call has made, or nil.
func (c *Client) request(id uint64) *request {
	if r := c.machine.Request(id); r != nil {
		made, _ := r.Caller.(*request)
		return made
	}
	return nil
}

// finish lets the call return: at once, or with the others of the frame that is being
// read, see onFrame.
func (c *Client) finish(r *request, lock *holdfast.Lock, err error) {
	if c.reading {
		r.result = outcome{lock, err}
		c.decided = append(c.decided, r)
		return
	}
	r.outcome <- outcome{lock, err}
}

// enter asks for a lock.
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

// waitEnd is when the wait of a call made now ends, by its own limit.
func (c *Client) waitEnd(want *holdfast.Request) time.Duration {
	return session.WaitEnd(c.clock.Now(), want)
}

// clearlySooner is how much the deadline of a context has to be before a wait limit to
// count in its place. A caller that gives both the same length means that limit.
const clearlySooner = time.Second

// limitWait lets a call wait until the deadline of its context, where that is clearly sooner than its wait limit. The authority
// knows that moment: it says who holds the name then, as no context does.
func (c *Client) limitWait(r *request) {
	if deadline, bounded := r.values.Deadline(); bounded && !r.Want.Try {
		if end := session.After(c.clock.Now(), max(0, time.Until(deadline))); session.After(end, clearlySooner) < r.WaitEnd {
			r.WaitEnd, r.Bounded = end, true
		}
	}
}

// whyWaited says why a wait limit ended without a lock, as far as is known here.
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

// awaitOutcome waits, beyond the deadline of a call's context, for the word of the authority.
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

// whyEnded joins the error of a context that has ended a call with what the authority has
// said about it by then.
func (c *Client) whyEnded(r *request, reason error) error {
	if r.Bounded && (errors.Is(reason, holdfast.ErrHeld) || errors.Is(reason, holdfast.ErrUnavailable) && c.clock.Now() >= r.WaitEnd) {
		return fmt.Errorf("%w: %w", reason, context.DeadlineExceeded)
	}
	return reason
}

// abandon is called when the context of a call has ended. A grant that has come
// already is released.
func (c *Client) abandon(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(session.Event{Kind: session.GiveUp, Request: &r.Request})
}
