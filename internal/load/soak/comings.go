package soak

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

// comings runs sessions that come and go. It does not use its own session.
func (r *run) comings(ctx context.Context, _ *client.Client) error {
	r.each(ctx, Sessions, 2, 250*time.Millisecond, func(w *worker) error {
		c, err := r.dial(w.ctx, w.turn)
		if err != nil {
			return err
		}
		return errors.Join(w.visit(c), c.Close())
	})
	return nil
}

// visit locks some names. Every other visitor leaves the releases to the end of its session.
func (w *worker) visit(c *client.Client) error {
	for i := range 3 {
		lock, err := c.Lock(w.ctx, prefix+"visit/"+strconv.Itoa(w.number)+"/"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		if w.turn%2 == 0 {
			continue
		}
		if err := lock.Unlock(context.WithoutCancel(w.ctx)); err != nil {
			return err
		}
	}
	return nil
}

// cut runs a client whose connections are cut while it has a lock.
func (r *run) cut(ctx context.Context) error {
	behind := r.Cluster.Addresses()[0]
	p, err := listen(behind)
	if err != nil {
		return err
	}
	r.proxies = append(r.proxies, p)
	c, err := dial(ctx, p.address(), r.options(behind))
	if err != nil {
		return err
	}
	r.clients = append(r.clients, c)
	var kept *holdfast.Lock
	r.each(ctx, Cut, 1, 2*time.Second, func(w *worker) error {
		if kept == nil {
			if kept, err = c.Lock(w.ctx, prefix+"kept"); err != nil {
				return err
			}
		}
		before := c.Session()
		if p.cut() == 0 {
			return errors.New("there was no connection to cut")
		}
		if err := w.keep(c, nil, 0, "cut"); err != nil {
			return err
		}
		if err := kept.Check(); err != nil {
			kept = nil
			return fmt.Errorf("a lock did not outlive its connection: %w", err)
		}
		if after := c.Session(); after != before {
			return fmt.Errorf("session %s did not outlive its connection: it is %s now", before, after)
		}
		return nil
	})
	return nil
}

// abandon is the requested ttl of an abandoned session, and expiry how long the next one waits for its end at most.
const (
	abandon = time.Second
	expiry  = time.Minute
)

// abandoned opens sessions that no client renews or ends.
func (r *run) abandoned(ctx context.Context, c *client.Client) error {
	r.each(ctx, Abandoned, 1, 2*time.Second, func(w *worker) error {
		wanted := client.Acquisition{Names: []string{prefix + "abandoned"}, TTL: abandon}
		if _, err := r.admin.Acquire(w.ctx, r.Space, wanted); err != nil {
			return err
		}
		return w.keep(c, nil, 0, "abandoned", holdfast.Wait(expiry))
	})
	return nil
}
