package client

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/takeall"
)

// Lock waits until name is granted. See [holdfast.Locker].
func (c *Client) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return c.lock(ctx, c.settings.space, name, false, o)
}

// TryLock fails at once if the name is held. Without an answer for 5 s it returns an ErrUnavailable. See
// [holdfast.Locker].
func (c *Client) TryLock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return c.lock(ctx, c.settings.space, name, true, o)
}

// LockAll takes all names or none. On failure it releases the names it has taken, and waits up to 1 s for the
// acknowledgement, within its wait limit. The wait limit is for all names together. See [holdfast.Locker].
func (c *Client) LockAll(ctx context.Context, names []string, o ...holdfast.Option) ([]*holdfast.Lock, error) {
	return c.lockAll(ctx, c.settings.space, names, o)
}

// Space returns the Locker of another lockspace in the same session.
func (c *Client) Space(name string) holdfast.Locker {
	if name == "" {
		name = holdfast.DefaultSpace
	}
	return &space{c, name}
}

// space is a Client with another default lockspace.
type space struct {
	client *Client
	name   string
}

func (s *space) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return s.client.lock(ctx, s.name, name, false, o)
}

func (s *space) TryLock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return s.client.lock(ctx, s.name, name, true, o)
}

func (s *space) LockAll(ctx context.Context, names []string, o ...holdfast.Option) ([]*holdfast.Lock, error) {
	return s.client.lockAll(ctx, s.name, names, o)
}

func (s *space) Space(name string) holdfast.Locker { return s.client.Space(name) }

// Close does nothing: the Client's own Close closes it.
func (s *space) Close() error { return nil }

// lock checks a request before it sends anything, then waits for the outcome.
func (c *Client) lock(ctx context.Context, space, name string, try bool, o []holdfast.Option) (*holdfast.Lock, error) {
	want, err := holdfast.NewRequest(name, o...)
	want.Try = want.Try || try
	if err == nil {
		err = holdfast.CheckSpace(space)
	}
	if err != nil {
		return nil, &holdfast.Error{Op: opLock, Space: space, Name: name, Err: err}
	}
	r, err := c.acquire(ctx, space, want, c.waitEnd(&want))
	if err != nil {
		return nil, err
	}
	return r.lock, nil
}

// acquire returns the granted request, or fails when its wait ends at end.
func (c *Client) acquire(ctx context.Context, space string, want holdfast.Request, end time.Duration) (*request, error) {
	r, err := c.enter(ctx, space, want, end)
	if err != nil {
		return nil, err
	}
	decided, err := c.await(ctx, r)
	if !decided {
		c.abandon(r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// await waits for the outcome of a request. If ctx ends before the decision, the error is that of ctx.
func (c *Client) await(ctx context.Context, r *request) (decided bool, err error) {
	for {
		select {
		case position := <-r.queued:
			r.Want.Queued(position)
		case got := <-r.outcome:
			c.outcomes.Put(r.outcome) // the channel is empty and will stay so
			select {
			case position := <-r.queued: // sent earlier, not read yet
				r.Want.Queued(position)
			default:
			}
			if got.err != nil {
				return true, c.whyEnded(r, got.err)
			}
			return true, nil
		case <-ctx.Done():
			if ctx.Err() == context.DeadlineExceeded {
				if got, decided := c.awaitOutcome(r); decided && got.err != nil {
					return true, c.whyEnded(r, got.err)
				}
			}
			return false, ctx.Err()
		}
	}
}

// releaseLimit is how long a failing LockAll waits for its releases.
const releaseLimit = time.Second

func (c *Client) lockAll(ctx context.Context, space string, names []string, o []holdfast.Option) ([]*holdfast.Lock, error) {
	wanted, err := resolveAll(space, names, o)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	end := c.waitEnd(&wanted[0].Request)
	requests := make([]*request, len(names))
	_, err = takeall.New(len(wanted), c.isDurable(space), takeall.Caller{
		Ask: func(i int, waits bool) (err error) {
			want, end := wanted[i].Request, end
			if !waits {
				want.Try, want.Queued = true, nil
				end = min(end, c.waitEnd(&want))
			}
			requests[i], err = c.enter(ctx, space, want, end)
			return err
		},
		Outcome: func(i int, _ bool) (bool, error) { return c.await(ctx, requests[i]) },
		GiveUp:  func(i int) error { c.abandon(requests[i]); return nil },
		Check:   func(i int) error { return requests[i].lock.Check() },
		Release: func(i int) { c.giveBack(requests[i]) },
	}).Go()
	if err != nil {
		c.awaitReleases(requests, end)
		return nil, err
	}
	locks := make([]*holdfast.Lock, len(names))
	for i, r := range requests {
		locks[wanted[i].Place] = r.lock
	}
	return locks, nil
}

func (c *Client) isDurable(space string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.durable, space)
}

// resolveAll checks requests for many names before anything is sent.
func resolveAll(space string, names []string, o []holdfast.Option) ([]holdfast.PlacedRequest, error) {
	if err := holdfast.CheckSpace(space); err != nil {
		return nil, &holdfast.Error{Op: opLock, Space: space, Err: err}
	}
	return holdfast.NewRequests(space, names, o...)
}

// giveBack releases a name that a failing LockAll has taken.
func (c *Client) giveBack(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.State() != session.Settled {
		r.gone = make(chan struct{})
	}
	c.step(session.Event{Kind: session.GiveUp, Request: &r.Request})
}

// awaitReleases waits, until end at most, for the releases of a LockAll.
func (c *Client) awaitReleases(requests []*request, end time.Duration) {
	timer := time.NewTimer(min(releaseLimit, max(0, session.After(end, session.WaitGrace)-c.clock.Now())))
	defer timer.Stop()
	for _, r := range requests {
		if r == nil || r.gone == nil {
			continue // not taken, or already settled
		}
		select {
		case <-r.gone:
		case <-timer.C:
			return // the releases are resent until they are acknowledged
		}
	}
}
