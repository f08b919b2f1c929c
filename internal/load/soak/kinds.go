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

// Kind is a kind of load.
type Kind string

// The kinds; the package comment describes each.
const (
	Uncontended Kind = "uncontended"
	Hot         Kind = "hot"
	Shared      Kind = "shared"
	Slots       Kind = "slots"
	Impatient   Kind = "impatient"
	Overheld    Kind = "overheld"
	Sessions    Kind = "sessions"
	Cut         Kind = "cut"
	Abandoned   Kind = "abandoned"
)

// allKinds lists them.
func allKinds() []Kind {
	return []Kind{Uncontended, Hot, Shared, Slots, Impatient, Overheld, Sessions, Cut, Abandoned}
}

// prefix is the prefix of all names.
const prefix = "bench/soak/"

// begin opens the permanent sessions, and starts the workers.
func (r *run) begin(ctx context.Context) error {
	for member, start := range []func(context.Context, *client.Client) error{
		r.uncontended, r.modes, r.impatient, r.overheld, r.comings, r.abandoned,
	} {
		c, err := r.openSession(ctx, member)
		if err != nil {
			return err
		}
		if err := start(ctx, c); err != nil {
			return err
		}
	}
	if err := r.hot(ctx); err != nil {
		return err
	}
	return r.cut(ctx)
}

// keep takes a lock, keeps it for a while and releases it. A nil room means that no other worker uses it.
func (w *worker) keep(c *client.Client, inside *room, d time.Duration, name string, options ...holdfast.Option) error {
	lock, err := c.Lock(w.ctx, prefix+name, options...)
	if err != nil {
		return err
	}
	inside.enter(lock)
	w.pass(d)
	inside.leave(lock)
	return lock.Unlock(context.WithoutCancel(w.ctx))
}

func (r *run) uncontended(ctx context.Context, c *client.Client) error {
	r.each(ctx, Uncontended, 16, 80*time.Millisecond, func(w *worker) error {
		return w.keep(c, nil, time.Millisecond, "own/"+strconv.Itoa(w.number))
	})
	return nil
}

// hot has two sessions: one goes to the authority, one through a member.
func (r *run) hot(ctx context.Context) error {
	direct, err := r.openSession(ctx, 0, client.Direct())
	if err != nil {
		return err
	}
	other, err := r.openSession(ctx, 1)
	if err != nil {
		return err
	}
	inside := &room{violations: &r.violations}
	r.each(ctx, Hot, 8, 40*time.Millisecond, func(w *worker) error {
		return w.keep([]*client.Client{direct, other}[w.number%2], inside, 0, "hot")
	})
	return nil
}

// modes runs shared and slots.
func (r *run) modes(ctx context.Context, c *client.Client) error {
	read, pool := &room{violations: &r.violations}, &room{violations: &r.violations}
	r.each(ctx, Shared, 6, 80*time.Millisecond, func(w *worker) error {
		return w.keep(c, read, time.Millisecond, "shared", holdfast.Shared())
	})
	r.each(ctx, Shared, 2, 80*time.Millisecond, func(w *worker) error {
		return w.keep(c, read, time.Millisecond, "shared")
	})
	r.each(ctx, Slots, 6, 80*time.Millisecond, func(w *worker) error {
		return w.keep(c, pool, time.Millisecond, "slots", holdfast.Slots(1+w.random.IntN(3), 4))
	})
	return nil
}

// patience is how long the impatient workers wait.
const patience = 5 * time.Millisecond

// impatient repeatedly waits for a lock that another session holds for a while. A turn counts when its wait was given
// up.
func (r *run) impatient(ctx context.Context, c *client.Client) error {
	holder, err := r.openSession(ctx, 0)
	if err != nil {
		return err
	}
	r.each(ctx, Impatient, 4, 50*time.Millisecond, func(w *worker) error {
		name := "slow/" + strconv.Itoa(w.number)
		held, err := holder.Lock(w.ctx, prefix+name)
		if err != nil {
			return err
		}
		err = w.giveUp(c, prefix+name)
		w.pass(20*time.Millisecond - patience)
		return errors.Join(err, held.Unlock(context.WithoutCancel(w.ctx)))
	})
	return nil
}

// giveUp requests a lock that it cannot get, in one of three ways. A wait limit that is over before any member has
// answered ends with ErrUnavailable, as it should: that happens on a busy machine.
func (w *worker) giveUp(c *client.Client, name string) error {
	var lock *holdfast.Lock
	var err error
	want := holdfast.ErrHeld
	switch w.turn % 3 {
	case 0:
		lock, err = c.Lock(w.ctx, name, holdfast.Wait(patience))
	case 1:
		ctx, cancel := context.WithTimeout(w.ctx, patience)
		defer cancel()
		lock, err = c.Lock(ctx, name)
		want = context.DeadlineExceeded
	default:
		lock, err = c.TryLock(w.ctx, name)
	}
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("lock %q was granted while another session had it", name), lock.Unlock(context.WithoutCancel(w.ctx)))
	case !errors.Is(err, want) && !(w.turn%3 == 0 && errors.Is(err, holdfast.ErrUnavailable)):
		return err
	}
	return nil
}

// overheld does not release a lock with a hold limit.
func (r *run) overheld(ctx context.Context, c *client.Client) error {
	r.each(ctx, Overheld, 1, 500*time.Millisecond, func(w *worker) error {
		lock, err := c.Lock(w.ctx, prefix+"overheld", holdfast.Hold(20*time.Millisecond))
		if err != nil {
			return err
		}
		select {
		case <-lock.Context().Done():
		case <-w.ctx.Done():
			return lock.Unlock(context.WithoutCancel(w.ctx))
		}
		if err := lock.Check(); holdfast.Why(err) != holdfast.HoldLimit {
			return fmt.Errorf("lock %q ended otherwise than by its hold limit: %w", lock.Name(), err)
		}
		return w.keep(c, nil, 0, "overheld")
	})
	return nil
}
