package client

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Lock waits until name is granted. See [holdfast.Locker].
func (c *Client) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return c.lock(ctx, c.settings.space, name, false, o)
}

// TryLock does not wait for a holder. Without an answer for 5 s it is an
// ErrUnavailable. See [holdfast.Locker].
func (c *Client) TryLock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return c.lock(ctx, c.settings.space, name, true, o)
}

// LockAll takes all names or none. When it fails it has released what it had; it
// waits up to 1 s for that to be acknowledged, and not beyond its wait limit. That is for all
// names together.
// See [holdfast.Locker].
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

// space is a Client seen through another lockspace.
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

// Close closes nothing: the Client is closed by its own Close.
func (s *space) Close() error { return nil }

// lock checks a request before anything is sent, then waits for its outcome.
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

// acquire returns the request that was granted, before its wait ends at end.
func (c *Client) acquire(ctx context.Context, space string, want holdfast.Request, end time.Duration) (*request, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := c.enter(ctx, space, want, end)
	if err != nil {
		return nil, err
	}
	for {
		select {
		case position := <-r.queued:
			want.Queued(position)
		case got := <-r.outcome:
			c.outcomes.Put(r.outcome) // it has given all that it ever gets
			select {
			case position := <-r.queued: // told before, and not read yet
				want.Queued(position)
			default:
			}
			if got.err != nil {
				return nil, c.whyEnded(r, got.err)
			}
			return r, nil
		case <-ctx.Done():
			got, decided := outcome{}, false
			if ctx.Err() == context.DeadlineExceeded {
				got, decided = c.awaitOutcome(r)
			}
			if decided && got.err != nil {
				return nil, c.whyEnded(r, got.err)
			}
			c.abandon(r)
			return nil, ctx.Err()
		}
	}
}

// releaseLimit is how long a LockAll that fails waits for its releases.
const releaseLimit = time.Second

func (c *Client) lockAll(ctx context.Context, space string, names []string, o []holdfast.Option) ([]*holdfast.Lock, error) {
	wanted, err := resolveAll(space, names, o)
	if err != nil {
		return nil, err
	}
	locks := make([]*holdfast.Lock, len(names))
	var taken []*request
	end := clock.Never
	if len(wanted) > 0 {
		end = c.waitEnd(&wanted[0].Request)
	}
	take := func(r *request, place int) {
		locks[place] = r.lock
		taken = append(taken, r)
	}
	err = holdfast.TakeAll(wanted, c.together(space), func(some []holdfast.PlacedRequest) (int, error) {
		all, err := c.tryTogether(ctx, space, some, end)
		for i, r := range all {
			take(r, some[i].Place)
		}
		return len(all), err
	}, func(one holdfast.PlacedRequest) error {
		r, err := c.acquire(ctx, space, one.Request, end)
		if err == nil {
			take(r, one.Place)
		}
		return err
	})
	if err != nil {
		c.releaseAll(taken, end)
		return nil, err
	}
	for _, lock := range locks { // one may have been lost while another was waited for
		if err := lock.Check(); err != nil {
			c.releaseAll(taken, end)
			return nil, err
		}
	}
	return locks, nil
}

// together is how many names of a space are asked for at the same time.
func (c *Client) together(space string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.durable, space) {
		return holdfast.MostTogether
	}
	return 1
}

// tryTogether asks for names at the same time, without waiting for holders, and returns the requests for the first ones that
// were granted. The others are given up. The error is that of ctx, or that the client is closed.
func (c *Client) tryTogether(ctx context.Context, space string, wanted []holdfast.PlacedRequest, end time.Duration) (taken []*request, err error) {
	requests := make([]*request, 0, len(wanted))
	for i := range wanted {
		want := wanted[i].Request
		want.Try, want.Queued = true, nil
		r, refused := c.enter(ctx, space, want, min(end, c.waitEnd(&want)))
		if refused != nil {
			break // the name is asked for by itself, and the error told then
		}
		requests = append(requests, r)
	}
	for len(taken) < len(requests) && err == nil {
		r := requests[len(taken)]
		select {
		case got := <-r.outcome:
			c.outcomes.Put(r.outcome)
			if got.err != nil {
				c.abandonAll(requests[len(taken)+1:])
				return taken, nil
			}
			taken = append(taken, r)
		case <-ctx.Done():
			err = ctx.Err()
			c.abandonAll(requests[len(taken):])
		}
	}
	return taken, err
}

// abandonAll gives requests up, those of the highest names first, and gives back what they were granted.
func (c *Client) abandonAll(requests []*request) {
	for _, r := range slices.Backward(requests) {
		c.abandon(r)
	}
}

// resolveAll checks requests for many names before anything is sent.
func resolveAll(space string, names []string, o []holdfast.Option) ([]holdfast.PlacedRequest, error) {
	if err := holdfast.CheckSpace(space); err != nil {
		return nil, &holdfast.Error{Op: opLock, Space: space, Err: err}
	}
	return holdfast.NewRequests(space, names, o...)
}

// releaseAll releases what a LockAll had taken before it failed, whose wait ends at end.
func (c *Client) releaseAll(taken []*request, end time.Duration) {
	for _, r := range slices.Backward(taken) {
		c.mu.Lock()
		if r.State() != session.Settled {
			r.gone = make(chan struct{})
		}
		c.step(session.Event{Kind: session.GiveUp, Request: &r.Request})
		c.mu.Unlock()
	}
	timer := time.NewTimer(min(releaseLimit, max(0, session.After(end, session.WaitGrace)-c.clock.Now())))
	defer timer.Stop()
	for _, r := range taken {
		if r.gone == nil {
			continue // it was settled before
		}
		select {
		case <-r.gone:
		case <-timer.C:
			return // the releases are resent until they are acknowledged
		}
	}
}
