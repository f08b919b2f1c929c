package peer

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// tryLimit is the time limit of a request of rueidislock. By default a request without an answer after 20 ms counts as
// refused, and nothing wakes its worker: on a busy machine that would stop workers permanently.
const tryLimit = time.Second

// rueidislockOver uses rueidislock at a Redis server. A majority of one is for one server, and NOLOOP is what its
// documentation recommends for it.
func rueidislockOver(s service) service {
	s.connect = func(_ context.Context, address string, _ int) (load.Client, error) {
		locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{address}},
			KeyMajority:  1, NoLoopTracking: true, TryNextAfter: tryLimit,
		})
		if err != nil {
			return nil, err
		}
		return rueidislockClient{locks}, nil
	}
	return s
}

type rueidislockClient struct{ locks rueidislock.Locker }

func (c rueidislockClient) Worker(context.Context, int) (load.Locker, error) { return c, nil }

func (c rueidislockClient) Close() error {
	c.locks.Close()
	return nil
}

func (c rueidislockClient) Lock(ctx context.Context, name string) (load.Held, error) {
	held, release, err := c.locks.WithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return rueidislockHeld{held, release}, nil
}

type rueidislockHeld struct {
	held    context.Context
	release context.CancelFunc
}

// Unlock returns when the server has answered; it does not report whether the release worked.
func (h rueidislockHeld) Unlock(context.Context) error {
	h.release()
	return nil
}

// Check reports whether the lock has ended.
func (h rueidislockHeld) Check() error { return h.held.Err() }
