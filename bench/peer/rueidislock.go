package peer

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// tryLimit is how long a request of rueidislock may be under way. As shipped one that has
// not been answered after 20 ms counts as refused, and then nothing wakes who made it: on a
// busy machine that would stop workers for good.
const tryLimit = time.Second

// rueidislockOver lets rueidislock lock at a Redis server. A majority of one is what one
// server has, and NOLOOP what its own page recommends for it.
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

// Unlock returns when the server has answered; whether it could release is not told.
func (h rueidislockHeld) Unlock(context.Context) error {
	h.release()
	return nil
}

// Check says whether the lock has ended.
func (h rueidislockHeld) Check() error { return h.held.Err() }
