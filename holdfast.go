// Package holdfast provides distributed locks for Go: one API, and a choice of coordination protocol for each
// lockspace.
//
// A program takes locks through a [Locker]. There are three implementations, and they behave alike (each passes the
// test suite in package lockertest):
//
//   - client.Dial connects to a daemon over the network;
//   - node.Start makes this process a member itself;
//   - storelock.Open works over a store that you already run.
//
// A granted [Lock] is a promise with an end. Its [Lock.Context] is done before another client can be granted the name;
// context.Cause returns the reason. Its [Lock.Token] is a fencing token, strictly larger at every new grant of the
// name, which the resource behind the lock can compare. No lock can prevent what a paused process does between waking
// and its next look at the clock: the token covers that case.
//
//	locks, err := client.Dial(ctx, "holdfast://localhost:4040")
//	defer locks.Close()
//
//	lock, err := locks.Lock(ctx, "orders/42")
//	store.Write(lock.Context(), row, lock.Token())
//	err = lock.Unlock(ctx)
//
// [Do] runs a function under a lock, and unlocks.
package holdfast

import "context"

// Locker grants locks on the names of one lockspace. All methods are safe for concurrent use.
type Locker interface {
	// Lock waits until name is granted. The wait ends with ctx, or after the duration given by Wait. ctx bounds only
	// the wait: once granted, the lock outlives it. Lock.Context inherits the values of ctx. When ctx ends the wait,
	// Lock returns the context's own error and withdraws the request permanently. If the deadline of ctx ends the wait,
	// the error is also an ErrHeld that names the holder, provided the authority answers within 250 ms.
	Lock(ctx context.Context, name string, o ...Option) (*Lock, error)

	// TryLock is Lock without the wait: it returns ErrHeld at once if the name cannot be granted now. While no
	// authority is available it waits at most 5 s, then returns ErrUnavailable.
	TryLock(ctx context.Context, name string, o ...Option) (*Lock, error)

	// LockAll takes all names or none. It waits for them in sorted order, so that two calls with overlapping names
	// cannot deadlock. In a durable space it first tries up to 256 names at the same time. If one of them is held by
	// another session, it immediately returns the names granted after that one; other clients find those held for that
	// moment. The locks are returned in the order of names. A name listed twice is an ErrConflict. An empty list
	// returns no locks and no error.
	LockAll(ctx context.Context, names []string, o ...Option) ([]*Lock, error)

	// Space returns the Locker of another lockspace over the same connection and session. "" is the default space.
	// Closing the returned Locker has no effect.
	Space(name string) Locker

	// Close releases every lock held through this Locker, ends its waits with ErrClosed, and frees its resources. A
	// second Close does nothing.
	Close() error
}

// DefaultSpace is the name of the lockspace that always exists.
const DefaultSpace = "default"
