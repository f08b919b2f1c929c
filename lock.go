package holdfast

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Grant describes a granted request. It is for implementations of
// [Locker], who make a [Lock] of it.
type Grant struct {
	Space string
	Name  string
	Owner string
	Shape
	Token Token
	// Grace says that its name stays taken for a while after its hold limit, so that its
	// holder can stop.
	Grace bool
}

// Forever is the deadline of what does not end by itself.
const Forever time.Duration = math.MaxInt64

// Backing is the session behind a [Lock]: the part that each implementation of
// [Locker] supplies.
type Backing interface {
	// Now reads the session's own clock, which runs while the machine sleeps. Its
	// zero is arbitrary; it is compared with nothing but deadlines of this session.
	Now() time.Duration
	// Deadline is when, on that clock, the session ends unless it is renewed.
	Deadline() time.Duration
	// UnlockLock releases l, which has ended already, and returns when the authority has
	// taken that, or with the error of ctx. See [Lock.Unlock].
	UnlockLock(ctx context.Context, l *Lock) error
	// QueueUnlock queues the release of l, which has ended already. See [Lock.UnlockAsync].
	QueueUnlock(l *Lock) error
	// ExtendLock asks the authority for a new hold limit. See [Lock.Extend].
	ExtendLock(ctx context.Context, l *Lock, hold time.Duration) error
}

// Lock is a granted lock. Its methods may be called from many goroutines.
//
// One is made for every grant, so what only some of them need is in an ending, and
// nothing takes more room than it must.
type Lock struct {
	space, name, owner string
	token              Token
	request            uint64 // the id under which it was acquired
	backing            Backing
	values             context.Context // whose values Context has

	holdEnd  atomic.Int64 // hold limit on the backing's clock, or Forever
	units    int32
	capacity int32

	mu     sync.Mutex
	mode   Mode
	ended  bool
	grace  bool    // its name is released by Unlock, though the hold limit has ended the lock
	ending *ending // nil while the context was not asked for and nothing but Unlock has ended it
}

// ending is how a lock ended, and the contexts that end with it.
type ending struct {
	cause  error // nil while it is held, and after Unlock
	inner  context.Context
	cancel context.CancelCauseFunc
}

// NewLock makes the Lock of a grant. It is for implementations of [Locker]:
// request is the id of the request that was granted, holdEnd the end of its hold
// limit on the backing's clock (or [Forever]), values the context whose values
// Lock.Context has.
func NewLock(grant Grant, request uint64, holdEnd time.Duration, backing Backing, values context.Context) *Lock {
	l := &Lock{
		space: grant.Space, name: grant.Name, owner: grant.Owner, token: grant.Token, request: request,
		backing: backing, values: values,
		units: int32(grant.Units), capacity: int32(grant.Capacity), mode: grant.Mode, grace: grant.Grace,
	}
	l.holdEnd.Store(int64(holdEnd))
	return l
}

// Space returns the lockspace.
func (l *Lock) Space() string { return l.space }

// Name returns the name that is locked.
func (l *Lock) Name() string { return l.name }

// Owner returns the owner that was named, or "".
func (l *Lock) Owner() string { return l.owner }

// Mode returns the mode it was granted in.
func (l *Lock) Mode() Mode { return l.mode }

// Units returns how many units of the capacity it holds; 0 unless the mode is slots.
func (l *Lock) Units() int { return int(l.units) }

// Capacity returns the capacity that the units are part of; 0 unless the mode is slots.
func (l *Lock) Capacity() int { return int(l.capacity) }

// Token returns the fencing token.
func (l *Lock) Token() Token { return l.token }

// Request returns the id under which the lock was acquired, for implementations of [Locker].
func (l *Lock) Request() uint64 { return l.request }

// Deadline returns when the lock ends unless it is renewed or extended, on the
// backing's clock, for implementations of [Locker].
func (l *Lock) Deadline() time.Duration {
	return min(l.backing.Deadline(), time.Duration(l.holdEnd.Load()))
}

// Until returns the wall time at which the lock ends unless its session is
// renewed, which happens by itself, or its hold limit is extended. It is for
// people: the lock's end is counted on a clock that is not the wall's. It is the
// zero Time if nothing but Unlock or a failure ends it.
func (l *Lock) Until() time.Time {
	deadline := l.Deadline()
	if deadline == Forever {
		return time.Time{}
	}
	return time.Now().Add(deadline - l.backing.Now())
}

// Check returns nil while the lock is held, and why not when it is not: ErrLost
// with the reason, or ErrNotHeld after Unlock. It compares with the clock itself.
func (l *Lock) Check() error {
	l.expire()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.ended:
		return nil
	case l.cause() != nil:
		return l.cause()
	}
	return l.fail("check", ErrNotHeld)
}

// cause returns why the lock has ended: nil while it is held, and after Unlock. It is
// called with the mutex held.
func (l *Lock) cause() error {
	if l.ending == nil {
		return nil
	}
	return l.ending.cause
}

// end ends the lock because of err. It is called with the mutex held.
func (l *Lock) end(err error) {
	l.ended = true
	if err != nil && l.ending == nil {
		l.ending = &ending{}
	}
	if l.ending == nil {
		return
	}
	l.ending.cause = err
	if l.ending.cancel != nil {
		l.ending.cancel(err)
	}
}

// expire ends the lock if its deadline has passed.
func (l *Lock) expire() {
	if l.Deadline() == Forever {
		return // nothing to compare the clock with, so it need not be read
	}
	// The clock first: a deadline that is moved meanwhile must not look passed.
	switch now := l.backing.Now(); {
	case now >= l.backing.Deadline():
		l.End(SessionExpired)
	case now >= time.Duration(l.holdEnd.Load()):
		l.End(HoldLimit)
	}
}

// End ends the lock because of err, which its Context gets as cause, and reports
// whether it was still held. It is for implementations of [Locker]; a lock that
// has ended stays ended, with its first cause.
func (l *Lock) End(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	var wrapped *Error
	if err != nil && !errors.As(err, &wrapped) {
		err = l.fail("lock", err)
	}
	l.end(err)
	return true
}

func (l *Lock) fail(op string, err error) error {
	return &Error{Op: op, Space: l.space, Name: l.name, Err: err}
}

// Extend replaces the hold limit: the lock may live for hold from now. Zero
// removes the limit. A session needs no extending, it is renewed by itself. In spaces of
// protocol central and grantor it waits, after an authority was lost, until the next one
// grants. The error is ErrLost or ErrNotHeld if the lock has ended.
func (l *Lock) Extend(ctx context.Context, hold time.Duration) error {
	if err := l.Check(); err != nil {
		return err
	}
	if hold < 0 {
		return l.fail("extend", &Error{Op: "hold limit " + hold.String(), Err: ErrConflict})
	}
	return l.backing.ExtendLock(ctx, l, hold)
}

// SetHoldEnd moves the end of the hold limit, for implementations of [Locker].
func (l *Lock) SetHoldEnd(end time.Duration) { l.holdEnd.Store(int64(end)) }

// Unlock releases the lock, and returns when the authority has taken the release: from
// then on the name is free for the next, through every member (but for the stores whose
// locker keeps what was released for a while, storelock.HoldOn). From the first call
// on the lock is not held, and the result does not change that.
//
// The release is sent again until it is acknowledged, or until the session has ended,
// which frees the name as well. If ctx ends before, Unlock returns the error of ctx,
// and the release goes on without it.
//
// The error is ErrLost or ErrNotHeld where the lock had ended before, and ErrLost where the
// session has ended before the release was acknowledged; a second Unlock is an
// ErrNotHeld and does no harm.
//
// Where a name stays taken for a while after a hold limit (a grace), Unlock says that
// its holder has stopped, and frees it at once; the error is ErrLost nevertheless.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.give(); err != nil {
		if l.endGrace(err) {
			return errors.Join(err, l.backing.UnlockLock(ctx, l))
		}
		return err
	}
	return l.backing.UnlockLock(ctx, l)
}

// endGrace reports whether a lock that has ended because of why has a name that is to be
// released all the same: once, and where the hold limit has ended it.
func (l *Lock) endGrace(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	may := l.grace && Why(why) == HoldLimit
	l.grace = l.grace && !may
	return may
}

// UnlockAsync is Unlock that does not wait: it returns once the release is queued, and what
// is asked for next goes to the authority with it. A TryLock of another session may still
// be refused then. The error says only how the lock had ended before.
func (l *Lock) UnlockAsync() error {
	if err := l.give(); err != nil {
		if l.endGrace(err) {
			return errors.Join(err, l.backing.QueueUnlock(l))
		}
		return err
	}
	return l.backing.QueueUnlock(l)
}

// give ends the lock for the caller that releases it. The error says how it had ended before.
func (l *Lock) give() error {
	l.expire()
	l.mu.Lock()
	ended, cause := l.ended, l.cause()
	if !ended {
		l.end(nil)
	}
	l.mu.Unlock()
	switch {
	case cause != nil:
		return cause
	case ended:
		return l.fail("unlock", ErrNotHeld)
	}
	return nil
}

// Context is done when the lock has ended. context.Cause says why: an ErrLost
// with its reason; context.Canceled after Unlock. Its Err compares with the clock
// itself, so it is right even before any timer had a chance to run.
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending == nil {
		l.ending = &ending{}
	}
	e := l.ending
	if e.inner == nil {
		values := l.values
		if values == nil {
			values = context.Background()
		}
		e.inner, e.cancel = context.WithCancelCause(context.WithoutCancel(values))
		if l.ended {
			e.cancel(e.cause)
		}
	}
	return lockContext{e.inner, l}
}

// lockContext looks at the clock before it answers for the context within.
type lockContext struct {
	context.Context
	lock *Lock
}

func (c lockContext) Err() error {
	c.lock.expire()
	return c.Context.Err()
}

// Value looks at the clock too, because context.Cause asks Value for the context
// whose cause it then reads.
func (c lockContext) Value(key any) any {
	c.lock.expire()
	return c.Context.Value(key)
}

func (c lockContext) String() string { return "lock " + c.lock.Name() }
