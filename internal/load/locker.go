package load

import (
	"context"
	"time"
)

// Locker is the one interface through which every target is measured. One worker at a time uses it; workers may share
// one behind it.
type Locker interface {
	// Lock waits for a name, exclusively; ctx ends the wait.
	Lock(ctx context.Context, name string) (Held, error)
}

// Held is a lock of a worker. It may also have the method Check() error, which reports whether it has ended by itself:
// then the checker no longer counts it as a holder.
type Held interface {
	// Unlock releases it. When it returns is up to the target, and part of the measurement.
	Unlock(ctx context.Context) error
}

// Announcer is a Locker that reports when a request is queued. Without one, workload drain waits for a while instead.
type Announcer interface {
	// LockAnnounced is Lock that calls queued, once, when the request is queued. It does not call it for an immediate
	// grant; queued does not block.
	LockAnnounced(ctx context.Context, name string, queued func()) (Held, error)
}

// Client is shared by the workers of one measurement: a connection, a session.
type Client interface {
	// Worker returns the Locker of a worker, counted from 0. It is called before the measurement.
	Worker(ctx context.Context, number int) (Locker, error)
	Close() error
}

// Target is a measured lock service. Its methods are called one at a time.
type Target interface {
	// Name returns its name in tables.
	Name() string
	// Supports reports whether a cell makes sense for it.
	Supports(Cell) bool
	// Start starts the servers, also after a Stop; it returns when they can grant.
	Start(ctx context.Context) error
	// Stop ends the servers.
	Stop() error
	// Connect opens the shared resources of the workers for one measurement of a cell.
	Connect(ctx context.Context, c Cell) (Client, error)
	// Usage returns the servers' resource usage so far. With settle they collect garbage first.
	Usage(ctx context.Context, settle bool) (Usage, error)
}

// Messenger is a Target that reports its message pattern; others ask a manager.
type Messenger interface {
	Messages() Messages
}

// Pinger is a Target on another machine, which measures its own round trips; [Machine] measures the others.
type Pinger interface {
	// Ping measures round trips for about d, and returns their median; 0 if unknown.
	Ping(ctx context.Context, d time.Duration) (time.Duration, error)
}

// Counter is a Target with members in this process, whose messages it counts.
type Counter interface {
	// Counted returns the number of messages for locks so far: those that a member here has exchanged with others, or,
	// if all members are here, all.
	Counted() uint64
}

// Bounded is a Target that cannot be measured with as many as a cell wants, or not in a reasonable time.
type Bounded interface {
	// Bound returns the number of workers or waiters for a workload: from 1 to wanted. The figures then have a [Count].
	Bound(workload string, wanted int) int
}

// bound returns the number of workers or waiters for a target.
func bound(t Target, workload string, wanted int) int {
	if b, ok := t.(Bounded); ok {
		return b.Bound(workload, wanted)
	}
	return wanted
}

// Foreign is a third-party Target: a failed measurement of it counts as one error, and does not end the run.
type Foreign interface{ Foreign() }

// Messages is the message pattern of a target.
type Messages int

// The message patterns.
const (
	Centralized Messages = iota // a manager is asked, and is informed of each release
	NoMessages                  // its locks cost none
	NoLocks                     // it has no locks
	Broadcast                   // all others are asked at once, and the releasing member answers the next one
	TwoPhase                    // leaders are asked twice, each time for one answer, and are informed of each release
)

// Usage is the resource usage of processes. An unknown figure is 0.
type Usage struct {
	CPU      time.Duration // user and system, since they began
	Resident int64         // bytes of resident memory
	Heap     int64         // bytes of live heap
}

// Plus returns the sum of two usages.
func (u Usage) Plus(other Usage) Usage {
	return Usage{u.CPU + other.CPU, u.Resident + other.Resident, u.Heap + other.Heap}
}

// Machine performs operations on the workers' process and the servers' processes. A nil one is never used.
type Machine interface {
	// Share pins this process and a target's to one CPU, until restore is called.
	Share(ctx context.Context, t Target) (restore func() error, err error)
	// Ping measures ping-pongs over TCP for about d, and returns their median.
	Ping(ctx context.Context, d time.Duration) (time.Duration, error)
	// CPU returns this process's CPU time, user and system.
	CPU() time.Duration
}
