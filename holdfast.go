// Package holdfast is distributed locks for Go: one API, and for each lockspace
// the coordination protocol of your choice.
//
// A program holds locks through a [Locker]. There are three, and they behave
// alike (package lockertest is the suite that each of them passes):
//
//   - client.Dial connects to a daemon over the network;
//   - node.Start makes this process a member itself;
//   - storelock.Open works over a store that you already run.
//
// A [Lock] that was granted is a promise with an end. Its [Lock.Context] is done
// before another client can be granted the name, with a cause that says why; its
// [Lock.Token] is a fencing token, strictly larger at every new grant of the
// name, for the resource behind the lock to compare. What a process that was
// paused does between waking and its first look at the clock cannot be prevented
// by any lock: that is what the token is for.
//
//	locks, err := client.Dial(ctx, "holdfast://localhost:4040")
//	defer locks.Close()
//
//	lock, err := locks.Lock(ctx, "orders/42")
//	store.Write(lock.Context(), row, lock.Token())
//	err = lock.Unlock(ctx)
package holdfast

import "context"

// Locker grants locks on the names of one lockspace. All methods may be called
// from many goroutines at once.
type Locker interface {
	// Lock waits until name is granted. The wait ends with ctx, or with Wait(d);
	// ctx bounds the wait only: once granted, the lock outlives it. Its values
	// are those of Lock.Context. When ctx ends the wait, the context's own error
	// is returned and the request is gone for good. Where the deadline of ctx ends
	// it, the error is an ErrHeld as well, with who holds the name, if the
	// authority says so within 250 ms.
	Lock(ctx context.Context, name string, o ...Option) (*Lock, error)

	// TryLock is Lock without the wait: ErrHeld at once if the name cannot be
	// granted now. While there is no authority to ask it waits at most 5 s, then
	// returns ErrUnavailable.
	TryLock(ctx context.Context, name string, o ...Option) (*Lock, error)

	// LockAll takes all names or none. It waits for them in sorted order, so that
	// two calls whose names overlap cannot wait for each other. In a durable space up
	// to 256 are tried at the same time first; a name that is granted behind
	// one that another session holds is given back at once, and for that moment others
	// find it held.
	// The locks come back in the order of names. A name that is listed twice is an ErrConflict. No
	// names give no locks and no error.
	LockAll(ctx context.Context, names []string, o ...Option) ([]*Lock, error)

	// Space returns the Locker of another lockspace over the same connection and
	// session. "" is the default space. Closing it closes nothing.
	Space(name string) Locker

	// Close releases every lock held through this Locker, ends its waits with
	// ErrClosed, and frees what it uses. A second Close does nothing.
	Close() error
}

// DefaultSpace is the lockspace that always exists.
const DefaultSpace = "default"
