package holdfasttest

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// authorityWait is how long TryLock waits for an authority.
const authorityWait = 5 * time.Second

// request is one request: it waits, then it holds, or it has an error. The authority's mutex guards what changes.
type request struct {
	authority *authority
	want      holdfast.Request
	space     string
	values    context.Context
	session   *session
	id        uint64
	sent      lock.Time
	waitEnd   lock.Time
	callers   []uintptr

	queued   chan int // has room for a position; nil if no caller wants it, or it has it
	decided  chan struct{}
	lock     *holdfast.Lock // set before decided is closed
	err      error          // likewise
	holdOver *time.Timer    // ends the lock at its hold limit
}

// Lock waits for the name. See holdfast.Locker.
func (l *Locker) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return l.take(ctx, name, false, o)
}

// TryLock takes the name if it is free. See holdfast.Locker.
func (l *Locker) TryLock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return l.take(ctx, name, true, o)
}

func (l *Locker) take(ctx context.Context, name string, try bool, o []holdfast.Option) (*holdfast.Lock, error) {
	want, err := holdfast.NewRequest(name, o...)
	if err != nil {
		return nil, l.fail(name, err)
	}
	want.Try = want.Try || try
	r, err := l.submit(ctx, want)
	if err != nil {
		return nil, err
	}
	return r.await(ctx)
}

func (l *Locker) fail(name string, err error) error {
	return &holdfast.Error{Op: "lock", Space: l.space, Name: name, Err: err}
}

// submit makes a request. The decision may come later.
func (l *Locker) submit(ctx context.Context, want holdfast.Request) (*request, error) {
	a := l.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	switch {
	case l.client.closed:
		err = holdfast.ErrClosed
	case a.tableOf(l.space) == nil:
		err = holdfast.ErrSpace
	case want.Require > a.class:
		err = fmt.Errorf("%w: %v is required, and the space offers %v", holdfast.ErrClass, want.Require, a.class)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, l.fail(want.Name, err)
	}
	r := &request{
		authority: a, want: want, space: l.space, values: ctx, session: l.client.session, waitEnd: lock.Never,
		callers: callers(), decided: make(chan struct{}),
	}
	if want.Queued != nil {
		r.queued = make(chan int, 1)
	}
	switch now := a.now(); {
	case want.Wait > 0:
		r.waitEnd = after(now, want.Wait)
	case want.Try:
		r.waitEnd = after(now, authorityWait)
	}
	a.ask(r)
	return r, nil
}

// ask puts a request to its table, under a new id. The caller holds the mutex.
func (a *authority) ask(r *request) {
	a.last++
	r.id, r.sent = a.last, a.now()
	a.requests[r.id] = r
	a.step(func(now lock.Time, out *[]lock.Decision) {
		a.tableOf(r.space).Acquire(now, &lock.Request{
			Session: r.session.id, ID: r.id, Name: r.want.Name, Attributes: r.want.Attributes,
			Client: r.session.client.name, Try: r.want.Try, Arrived: r.sent, WaitEnd: r.waitEnd,
		}, out)
	})
}

// after returns t + d, or lock.Never if that overflows.
func after(t lock.Time, d time.Duration) lock.Time { return t + min(d, lock.Never-t) }

// notify passes the position in the queue to the caller, once.
func (r *request) notify(position int) {
	select {
	case r.queued <- position:
	default: // no caller wants it, or it is there
	}
}

// grant makes the lock of a grant.
func (r *request) grant(now lock.Time, d *lock.Decision) {
	end := holdfast.Forever
	if d.Hold > 0 {
		end = after(r.sent, d.Hold)
	}
	r.lock = holdfast.NewLock(holdfast.Grant{
		Space: r.space, Name: r.want.Name, Owner: r.want.Owner, Shape: r.want.Shape, Token: d.Token,
	}, r.id, end, r.session, r.values)
	r.limit(now, end)
	close(r.decided)
}

// decide ends a request that waits with an error.
func (r *request) decide(err error) {
	r.err = &holdfast.Error{Op: "lock", Space: r.space, Name: r.want.Name, Err: err}
	close(r.decided)
}

// limit ends the lock at end, on its own clock: the table grants the name to others only after that.
func (r *request) limit(now, end lock.Time) {
	r.stop()
	r.lock.SetHoldEnd(end)
	if end != holdfast.Forever {
		held, a := r.lock, r.authority
		r.holdOver = time.AfterFunc(end-now, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			// Check ends a lock whose time has come. The table will report it as well.
			if _ = held.Check(); !a.ended {
				a.look()
			}
		})
	}
}

func (r *request) stop() {
	if r.holdOver != nil {
		r.holdOver.Stop()
	}
}

// await waits for the decision, until ctx ends.
func (r *request) await(ctx context.Context) (*holdfast.Lock, error) {
	queued := r.queued
	for {
		select {
		case <-r.decided:
			select {
			case position := <-queued:
				r.want.Queued(position)
			default:
			}
			return r.lock, r.err
		case position := <-queued:
			queued = nil
			r.want.Queued(position)
		case <-ctx.Done():
			return nil, r.giveUp(ctx)
		}
	}
}

// giveUp ends a request because ctx has ended. If it was granted meanwhile, it is released.
func (r *request) giveUp(ctx context.Context) error {
	a := r.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	err := ctx.Err()
	select {
	case <-r.decided:
		if r.err != nil {
			return r.err
		}
		r.lock.End(holdfast.ErrNotHeld)
	default:
		if err == context.DeadlineExceeded {
			why := &holdfast.Error{Op: "lock", Space: r.space, Name: r.want.Name, Err: a.whyWaiting(r)}
			err = fmt.Errorf("%w: %w", why, err)
		}
	}
	if a.requests[r.id] == r {
		a.forget(r)
		a.step(func(now lock.Time, out *[]lock.Decision) {
			a.tableOf(r.space).Cancel(now, r.session.id, r.want.Name, r.id, out)
		})
	}
	return err
}

// whyWaiting returns why a request is not granted now.
func (a *authority) whyWaiting(r *request) error {
	if a.resumed != nil {
		return a.reason(holdfast.ErrUnavailable)
	}
	holders := a.tableOf(r.space).Show(r.want.Name).Holders
	if len(holders) == 0 {
		return &holdfast.HeldError{}
	}
	first := &holders[0]
	owner := first.Owner
	if owner == "" {
		owner = first.Client
	}
	return &holdfast.HeldError{Owner: owner, Since: time.Now().Add(first.Since - a.now()).UTC(), Others: len(holders) - 1}
}
