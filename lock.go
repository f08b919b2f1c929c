package holdfast

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Grant describes a granted request. It is for implementations of [Locker], which make a [Lock] from it.
type Grant struct {
	Space string
	Name  string
	Owner string
	Shape
	Token Token
	// Grace reports that the name stays taken for a while after its hold limit, so that the holder can stop.
	Grace bool
}

// Forever is the deadline of a lock that does not expire.
const Forever time.Duration = math.MaxInt64

// Backing is the session behind a [Lock]: the part that each implementation of [Locker] supplies. Now and Deadline take
// no mutex under which the implementation calls [Lock.End]: the end of one lock may look at the clock of another.
type Backing interface {
	// Now returns the time on the session's own clock, which keeps running while the machine sleeps. Its zero is
	// arbitrary; compare it only with deadlines of this session.
	Now() time.Duration
	// Deadline returns the time on that clock at which the session ends unless renewed.
	Deadline() time.Duration
	// UnlockLock releases l, which has already ended. It returns when the authority has accepted the release, or with
	// the error of ctx. See [Lock.Unlock].
	UnlockLock(ctx context.Context, l *Lock) error
	// QueueUnlock queues the release of l, which has already ended. See [Lock.UnlockAsync].
	QueueUnlock(l *Lock) error
	// ExtendLock asks the authority for a new hold limit. See [Lock.Extend].
	ExtendLock(ctx context.Context, l *Lock, hold time.Duration) error
	// AmendLock makes an amendment of l known to the authority, and returns when it is. See [Lock.SetValue].
	AmendLock(ctx context.Context, l *Lock, a Amendment) error
	// ObserveLock observes the name of l until ctx ends. See [Observer] and [Lock.Wanted].
	ObserveLock(ctx context.Context, l *Lock) iter.Seq2[State, error]
}

// Lock is a granted lock. Its methods are safe for concurrent use.
//
// One is allocated for every grant, so the struct is kept small; fields that only some locks need are in ending.
type Lock struct {
	space, name, owner string
	token              Token
	request            uint64 // the id of the request that acquired it
	backing            Backing
	values             context.Context // Context inherits its values

	holdEnd  atomic.Int64 // hold limit on the backing's clock, or Forever
	units    int32
	capacity int32

	mu     sync.Mutex
	mode   Mode
	ended  bool
	grace  bool    // Unlock releases the name although the hold limit has ended the lock
	ending *ending // nil until Context is called or something other than Unlock ends the lock
}

// ending is the outcome of a lock, and the contexts that end with it.
type ending struct {
	cause      error // nil while it is held, and after Unlock
	inner      context.Context
	cancel     context.CancelCauseFunc
	cancelWork context.CancelCauseFunc // of the context that Do gives its function; nil without one
	wanted     chan struct{}           // nil until Wanted is called
}

// NewLock returns the Lock of a grant. It is for implementations of [Locker]: request is the id of the granted request,
// holdEnd is the end of its hold limit on the backing's clock (or [Forever]), and Lock.Context inherits from values.
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

// Name returns the locked name.
func (l *Lock) Name() string { return l.name }

// Owner returns the owner given with the request, or "".
func (l *Lock) Owner() string { return l.owner }

// Mode returns the mode in which the lock was granted.
func (l *Lock) Mode() Mode { return l.mode }

// Units returns the number of units it holds; 0 unless the mode is slots.
func (l *Lock) Units() int { return int(l.units) }

// Capacity returns the name's total number of units; 0 unless the mode is slots.
func (l *Lock) Capacity() int { return int(l.capacity) }

// Token returns the fencing token.
func (l *Lock) Token() Token { return l.token }

// Request returns the id of the request that acquired the lock, for implementations of [Locker].
func (l *Lock) Request() uint64 { return l.request }

// Deadline returns the time on the backing's clock at which the lock ends unless renewed or extended, for
// implementations of [Locker].
func (l *Lock) Deadline() time.Duration {
	return min(l.backing.Deadline(), time.Duration(l.holdEnd.Load()))
}

// Until returns the wall time at which the lock ends unless its session is renewed, which is automatic, or its hold
// limit is extended. Use it for display only: the lock's end is measured on a clock other than the wall clock. It is
// the zero Time if only Unlock or a failure ends the lock.
func (l *Lock) Until() time.Time {
	deadline := l.Deadline()
	if deadline == Forever {
		return time.Time{}
	}
	return time.Now().Add(deadline - l.backing.Now())
}

// Check returns nil while the lock is held, ErrLost with the reason after a loss, and ErrNotHeld after Unlock. It reads
// the clock itself.
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

// cause returns why the lock has ended: nil while it is held, and after Unlock. The caller holds the mutex.
func (l *Lock) cause() error {
	if l.ending == nil {
		return nil
	}
	return l.ending.cause
}

// end ends the lock with err. The caller holds the mutex.
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
	if l.ending.cancelWork != nil {
		l.ending.cancelWork(err)
	}
}

// expire ends the lock if its deadline has passed.
func (l *Lock) expire() {
	if l.Deadline() == Forever {
		return // no deadline, so do not read the clock
	}
	// Read the clock first: a deadline that moves in the meantime must not look passed.
	switch now := l.backing.Now(); {
	case now >= l.backing.Deadline():
		l.End(SessionExpired)
	case now >= time.Duration(l.holdEnd.Load()):
		l.End(HoldLimit)
	}
}

// End ends the lock with err, which becomes the cause of its Context, and reports whether the lock was still held. It
// is for implementations of [Locker]; a lock that has ended keeps its first cause.
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

// Extend replaces the hold limit: the lock ends hold from now. Zero removes the limit. Sessions are renewed
// automatically and need no Extend. In spaces of protocol central and grantor, after the loss of an authority, Extend
// waits until the next one grants. The error is ErrLost or ErrNotHeld if the lock has ended.
func (l *Lock) Extend(ctx context.Context, hold time.Duration) error {
	if err := l.Check(); err != nil {
		return err
	}
	if hold < 0 {
		return l.fail("extend", &Error{Op: "hold limit " + hold.String(), Err: ErrConflict})
	}
	return l.backing.ExtendLock(ctx, l, hold)
}

// Amendment is a change of a grant by its holder. It is for implementations of [Locker].
type Amendment struct {
	Value string // the new value
}

// SetValue replaces the value of the grant, see [Value]. It returns when the authority has the new value: from then on
// each listing has it, or a later one. The values of one grant are ordered: an earlier one never replaces a later one,
// not even after a change of authority. One that is replaced before it has reached the authority is not shown. If an
// owner holds the grant by several locks, it is the value of all of them.
//
// The call is repeated until it is answered or the lock has ended. If ctx ends first, SetValue returns its error and
// the value is set in the background.
//
// The error is ErrLost or ErrNotHeld if the lock has ended, ErrName if the value is invalid (see [CheckValue]), and
// ErrLimit if it is longer than a member's limits.value_bytes. A lock that is lost during the call may have been shown
// with either value.
func (l *Lock) SetValue(ctx context.Context, value string) error {
	if err := l.Check(); err != nil {
		return err
	}
	if err := CheckValue(value); err != nil {
		return l.fail("set value", err)
	}
	return l.backing.AmendLock(ctx, l, Amendment{Value: value})
}

// SetHoldEnd moves the end of the hold limit, for implementations of [Locker].
func (l *Lock) SetHoldEnd(end time.Duration) { l.holdEnd.Store(int64(end)) }

// Unlock releases the lock, and returns when the authority has accepted the release: from then on the name is free at
// every member. (The exception is a store whose locker keeps released locks for a while, storelock.HoldOn.) From the
// first call on the lock is not held, regardless of the result.
//
// The release is resent until it is acknowledged, or until the session has ended, which also frees the name. If ctx
// ends first, Unlock returns the error of ctx and the release continues in the background.
//
// The error is ErrLost or ErrNotHeld if the lock had ended before the call, and ErrLost if the session ended before the
// release was acknowledged. A second Unlock returns ErrNotHeld and does no harm.
//
// A ctx that ends with this lock (its Context, or the context of a function of [Do]) has ended from then on. In its
// place [UnlockWait] limits the wait, and the error after that is an ErrUnavailable.
//
// If a name stays taken for a while after a hold limit (a grace), Unlock reports that the holder has stopped, and frees
// the name at once; the error is still ErrLost.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.give(); err != nil {
		if l.endGrace(err) {
			return errors.Join(err, l.release(ctx))
		}
		return err
	}
	return l.release(ctx)
}

// UnlockWait is how long an unlock waits for the authority if no context can limit the wait: that of [Do], and one
// whose context ends with the lock. The release continues in the background.
const UnlockWait = 5 * time.Second

// release waits until the authority has accepted the release of the lock, which has already ended here.
func (l *Lock) release(ctx context.Context) error {
	if ctx.Err() != nil && ctx.Value(endsWith{l}) != nil {
		return l.releaseWithin(ctx, UnlockWait)
	}
	return l.backing.UnlockLock(ctx, l)
}

// releaseWithin is release with a limit, also if ctx has ended.
func (l *Lock) releaseWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := l.backing.UnlockLock(ctx, l)
	if err != nil && errors.Is(err, ctx.Err()) {
		why := fmt.Sprintf("the release was not accepted within %v, and continues in the background", limit)
		err = l.fail("unlock", &UnavailableError{Why: why})
	}
	return err
}

// endGrace reports whether a lock that ended with why still has a name to release: true once, if the hold limit ended
// it.
func (l *Lock) endGrace(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	may := l.grace && Why(why) == HoldLimit
	l.grace = l.grace && !may
	return may
}

// UnlockAsync is Unlock without the wait: it returns once the release is queued. The release goes to the authority
// along with the next request. Until then a TryLock of another session may still be refused. The error reports only how
// the lock had already ended.
func (l *Lock) UnlockAsync() error {
	if err := l.give(); err != nil {
		if l.endGrace(err) {
			return errors.Join(err, l.backing.QueueUnlock(l))
		}
		return err
	}
	return l.backing.QueueUnlock(l)
}

// give ends the lock for the caller that releases it. The error reports how it had already ended.
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

// Context returns a context that is done when the lock has ended. context.Cause returns ErrLost with its reason after a
// loss, and context.Canceled after Unlock. Its Err reads the clock itself, so it is correct even before any timer has
// fired.
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

// lockContext reads the clock before it answers for the embedded context.
type lockContext struct {
	context.Context
	lock *Lock
}

func (c lockContext) Err() error {
	c.lock.expire()
	return c.Context.Err()
}

// endsWith is the key by which a context tells that it ends with a lock.
type endsWith struct{ lock *Lock }

// Value reads the clock too, because context.Cause calls Value to find the context whose cause it then returns.
func (c lockContext) Value(key any) any {
	if own, is := key.(endsWith); is && own.lock == c.lock {
		return c.lock
	}
	c.lock.expire()
	return c.Context.Value(key)
}

func (c lockContext) String() string { return "lock " + c.lock.Name() }
