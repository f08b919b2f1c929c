package load

import (
	"context"
	"time"
)

// Locker is what a worker uses: the one interface through which everything is measured.
// One worker at a time uses it; workers may share one behind it.
type Locker interface {
	// Lock waits for a name, exclusively; ctx ends the wait.
	Lock(ctx context.Context, name string) (Held, error)
}

// Held is a lock that a worker has. It may also have the method Check() error, which
// says whether it has ended by itself: then it is no holder any more to a checker that looks
// for two at once.
type Held interface {
	// Unlock releases it. When it returns is the target's own affair, and part of what is
	// measured.
	Unlock(ctx context.Context) error
}

// Announcer is a Locker that can tell when a request is queued. Where a Locker is none,
// workload drain waits for a while instead.
type Announcer interface {
	// LockAnnounced is Lock that calls queued, once, when the request is queued. It is not
	// called for one that is granted at once, and it does not block.
	LockAnnounced(ctx context.Context, name string, queued func()) (Held, error)
}

// Client is what the workers of one measurement share: a connection, a session.
type Client interface {
	// Worker returns the Locker of a worker, counted from 0. It is called before anything
	// is measured.
	Worker(ctx context.Context, number int) (Locker, error)
	Close() error
}

// Target is a lock service that is measured. Its methods are called one at a time.
type Target interface {
	// Name is its name in tables.
	Name() string
	// Supports says whether a cell makes sense for it.
	Supports(Cell) bool
	// Start starts the servers, anew after a Stop; it returns when they can grant.
	Start(ctx context.Context) error
	// Stop ends them.
	Stop() error
	// Connect opens what the workers of one measurement, of a cell, share.
	Connect(ctx context.Context, c Cell) (Client, error)
	// Usage is what the servers have used so far. With settle they are asked to throw away
	// what they do not need before.
	Usage(ctx context.Context, settle bool) (Usage, error)
}

// Messenger is a Target that says how it asks for locks; others ask a manager.
type Messenger interface {
	Messages() Messages
}

// Pinger is a Target that is not on this machine, and says itself what a round trip to it
// takes; the others are measured by [Machine].
type Pinger interface {
	// Ping measures round trips for about d, and returns the median of one; 0 where that
	// cannot be known.
	Ping(ctx context.Context, d time.Duration) (time.Duration, error)
}

// Counter is a Target with members in this process, whose messages it counts.
type Counter interface {
	// Counted is how many messages were sent so far for what is locked: those that a member
	// here has sent to others or received from them, or, where all members are here, all.
	Counted() uint64
}

// Bounded is a Target that cannot be measured with as many as a cell says, or not in a
// time that a user would wait for.
type Bounded interface {
	// Bound is with how many workers or waiters a workload is measured where so many are
	// wanted: from 1 to that many. The figures then have a [Count].
	Bound(workload string, wanted int) int
}

// bound is how many a target is measured with.
func bound(t Target, workload string, wanted int) int {
	if b, ok := t.(Bounded); ok {
		return b.Bound(workload, wanted)
	}
	return wanted
}

// Foreign is a Target of others: a measurement that it ends with an error counts as one
// error, and does not end the run.
type Foreign interface{ Foreign() }

// Messages says what a target sends.
type Messages int

// What a target sends.
const (
	Centralized Messages = iota // a manager is asked, and hears of each release
	NoMessages                  // its locks cost none
	NoLocks                     // it has no locks
	Broadcast                   // all others are asked at once, and the member that releases answers the next one
	TwoPhase                    // leaders are asked twice, each time for one answer, and hear of each release
)

// Usage is what processes have used. A figure that cannot be known is 0.
type Usage struct {
	CPU      time.Duration // user and system, since they began
	Resident int64         // bytes of memory that the system has given them
	Heap     int64         // bytes that are alive on their heaps
}

// Plus is the usage of two processes.
func (u Usage) Plus(other Usage) Usage {
	return Usage{u.CPU + other.CPU, u.Resident + other.Resident, u.Heap + other.Heap}
}

// Machine is what the workers' process can do about itself and the servers' processes.
// A nil one is never asked.
type Machine interface {
	// Share puts this process and a target's onto one CPU, until restore is called.
	Share(ctx context.Context, t Target) (restore func() error, err error)
	// Ping measures ping-pongs over TCP for about d, and returns the median of one.
	Ping(ctx context.Context, d time.Duration) (time.Duration, error)
	// CPU is what this process has used, user and system.
	CPU() time.Duration
}
