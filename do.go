package holdfast

import (
	"context"
	"errors"
	"fmt"
)

// Do takes the lock on name as [Locker.Lock] does, runs f under it, and unlocks when f returns.
//
//	err := holdfast.Do(ctx, locks, "orders/42", func(ctx context.Context, lock *holdfast.Lock) error {
//		return store.Write(ctx, row, lock.Token())
//	})
//
// The context of f has the values and the deadline of ctx. It ends with ctx or with the lock, whichever is first, and
// context.Cause returns which: the cause of ctx, or ErrLost with its reason. As that of [Lock.Context], its end comes
// before another client is granted the name, and its Err reads the clock itself.
//
// If the lock is not granted, Do returns the error of Lock, and f does not run. Otherwise it returns the error of f, in
// one sentence with those of the lock:
//
//   - ErrLost with its reason ([Why]) if the lock was lost before f returned, also if f returned nil: a part of its
//     work was not protected. It is ErrClosed if the Locker was closed. If f returns the bare context.Canceled that the
//     loss has caused, or the loss itself, the loss alone is returned.
//   - The error of Unlock if the release was not accepted; the work of f was protected. It is an ErrUnavailable after
//     [UnlockWait], and an ErrLost if the session ended before the release was accepted.
//
// The release does not depend on ctx, which may have ended. If f panics, or ends its goroutine, Do unlocks likewise,
// and the panic goes on. f may unlock the lock itself; its context then ends with context.Canceled, and Do returns the
// error of f alone. Goroutines that f starts must end with its context.
func Do(ctx context.Context, locker Locker, name string, f func(ctx context.Context, lock *Lock) error, options ...Option) (err error) {
	lock, err := locker.Lock(ctx, name, options...)
	if err != nil {
		return err
	}
	work := lock.workContext(ctx)
	defer func() { err = lock.finish(ctx, context.Cause(work), err) }()
	return f(work, lock)
}

// workContext returns a child of ctx that ends with the lock, too. The lock ends it in the same step, as it does its
// Context: a function that context.AfterFunc runs would come too late, when another client may have the name.
func (l *Lock) workContext(ctx context.Context) context.Context {
	inner, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending == nil {
		l.ending = &ending{}
	}
	l.ending.cancelWork = cancel
	if l.ended {
		cancel(l.ending.cause)
	}
	return lockContext{inner, l}
}

// finish unlocks after the function of Do has returned err. Cause is that of the function's context, and nil if it had
// not ended.
func (l *Lock) finish(ctx context.Context, cause, err error) error {
	lost := l.give()
	var unlocked error
	if lost == nil || l.endGrace(lost) {
		unlocked = l.releaseWithin(ctx, UnlockWait)
	}
	switch {
	case lost == nil, errors.Is(lost, ErrNotHeld): // the function has unlocked it
	case err == context.Canceled && errors.Is(cause, lost):
		err = lost
	default:
		err = inOneSentence(err, lost)
	}
	return inOneSentence(err, unlocked)
}

// inOneSentence joins two errors, either of which may be nil, or in the other.
func inOneSentence(err, other error) error {
	switch {
	case other == nil, err != nil && errors.Is(err, other):
		return err
	case err == nil:
		return other
	}
	return fmt.Errorf("%w; and %w", err, other)
}
