package peer

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// redsyncExpiry is the expiry of a lock of redsync.
const redsyncExpiry = time.Minute

// redsyncOver uses redsync at a Redis server, over go-redis with its default pool of connections.
func redsyncOver(s service) service {
	s.connect = func(ctx context.Context, address string, _ int) (load.Client, error) {
		client := goredis9.NewClient(&goredis9.Options{Addr: address})
		if err := client.Ping(ctx).Err(); err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return redsyncClient{client, redsync.New(goredis.NewPool(client))}, nil
	}
	return s
}

type redsyncClient struct {
	client *goredis9.Client
	locks  *redsync.Redsync
}

func (c redsyncClient) Worker(context.Context, int) (load.Locker, error) { return c, nil }

func (c redsyncClient) Close() error { return c.client.Close() }

// Lock tries until ctx ends. By default it would give up after 32 tries.
func (c redsyncClient) Lock(ctx context.Context, name string) (load.Held, error) {
	mutex := c.locks.NewMutex(name, redsync.WithExpiry(redsyncExpiry), redsync.WithTries(math.MaxInt))
	if err := mutex.LockContext(ctx); err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return redsyncHeld{mutex}, nil
}

type redsyncHeld struct{ mutex *redsync.Mutex }

var errExpired = errors.New("the lock has ended by itself")

func (h redsyncHeld) Unlock(ctx context.Context) error {
	done, err := h.mutex.UnlockContext(ctx)
	if err == nil && !done {
		err = errExpired
	}
	return err
}

// Check reports whether the lock has expired.
func (h redsyncHeld) Check() error {
	if !time.Now().Before(h.mutex.Until()) {
		return errExpired
	}
	return nil
}
