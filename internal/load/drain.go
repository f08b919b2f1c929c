package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// drainName is the name that all waiters of Drain want.
const drainName = "bench/drain"

// unannounced is how long to wait for waiters to queue if their Locker cannot announce them.
const unannounced = 500 * time.Millisecond

// queue has the waiters of one measurement of Drain.
type queue struct {
	checker Checker
	queued  chan struct{} // receives once for each queued waiter
	work    sync.WaitGroup

	mu      sync.Mutex
	granted []time.Time
	errors  []error
}

// drained is the result of a drain.
type drained struct {
	took   time.Duration // from the release until the last grant
	waits  Histogram     // from the release until each grant
	got    int
	errors int
	first  error

	handoffs, violations uint64
}

// drain makes waiters queue for a held name, and releases it when ready returns: it is called when all wait, and
// returns when the measurement is to begin.
func drain(ctx context.Context, client Client, waiters int, ready func() error) (*drained, error) {
	holder, err := client.Worker(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("prepare the holder: %w", err)
	}
	lockers := make([]Locker, waiters)
	for i := range lockers {
		if lockers[i], err = client.Worker(ctx, i+1); err != nil {
			return nil, fmt.Errorf("prepare waiter %d: %w", i+1, err)
		}
	}
	held, err := holder.Lock(ctx, drainName)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", drainName, err)
	}
	q := &queue{queued: make(chan struct{}, waiters)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, locker := range lockers {
		q.work.Go(func() { q.wait(ctx, i, locker) })
	}
	if err = q.awaitAll(ctx, lockers); err == nil {
		err = ready()
	}
	begun := time.Now()
	if err != nil {
		cancel()
	}
	err = errors.Join(err, held.Unlock(ctx))
	q.work.Wait()
	if err != nil {
		return nil, err
	}
	return q.result(begun), nil
}

// awaitAll returns when all waiters are queued.
func (q *queue) awaitAll(ctx context.Context, lockers []Locker) error {
	if _, ok := lockers[0].(Announcer); !ok {
		return backoff.Sleep(ctx, unannounced)
	}
	for range lockers {
		select {
		case <-q.queued:
		case <-ctx.Done():
			return fmt.Errorf("wait until all are queued: %w", context.Cause(ctx))
		}
	}
	return nil
}

// wait is one waiter.
func (q *queue) wait(ctx context.Context, number int, locker Locker) {
	var held Held
	var err error
	if announcer, ok := locker.(Announcer); ok {
		held, err = announcer.LockAnnounced(ctx, drainName, func() { q.queued <- struct{}{} })
	} else {
		held, err = locker.Lock(ctx, drainName)
	}
	granted := time.Now()
	if err == nil {
		q.checker.Enter(number, held)
		q.checker.Leave(number)
		err = held.Unlock(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.errors = append(q.errors, err)
		return
	}
	q.granted = append(q.granted, granted)
}

// result counts. All waiters have ended.
func (q *queue) result(begun time.Time) *drained {
	d := &drained{got: len(q.granted), errors: len(q.errors)}
	if d.errors > 0 {
		d.first = q.errors[0]
	}
	for _, granted := range q.granted {
		d.waits.Record(granted.Sub(begun))
	}
	d.took = d.waits.Max()
	d.handoffs, d.violations = q.checker.Counts()
	if d.got > 0 {
		d.handoffs++ // from its holder to the first
	}
	return d
}

// figures returns the results.
func (d *drained) figures() Figures {
	f := Figures{Violations: float64(d.violations), Errors: float64(d.errors)}
	if d.took > 0 {
		f[OpsPerS] = float64(d.got) / d.took.Seconds()
		f[HandoffsPerS] = float64(d.handoffs) / d.took.Seconds()
	}
	f.times(&d.waits)
	return f
}
