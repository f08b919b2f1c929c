package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// holders is the number of workers that take the locks of Hold.
const holders = 64

// heldLocks has the locks of one measurement of Hold.
type heldLocks struct {
	lockers []Locker
	locks   []Held

	taken  atomic.Int64
	errors atomic.Int64
	mu     sync.Mutex
	first  error
}

// newHeldLocks prepares that many locks, and lets each worker take and release one, so that the cost of the first use
// is not counted.
func newHeldLocks(ctx context.Context, client Client, count int) (*heldLocks, error) {
	h := &heldLocks{locks: make([]Held, count)}
	for number := range holders {
		locker, err := client.Worker(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("prepare worker %d: %w", number, err)
		}
		h.lockers = append(h.lockers, locker)
	}
	for number, locker := range h.lockers {
		first, err := locker.Lock(ctx, "bench/hold/first/"+strconv.Itoa(number))
		if err == nil {
			err = first.Unlock(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("take and release a first lock: %w", err)
		}
	}
	return h, nil
}

// each makes the workers process all locks, divided among them.
func (h *heldLocks) each(do func(locker Locker, i int) error) {
	var work sync.WaitGroup
	for number, locker := range h.lockers {
		work.Go(func() {
			for i := number; i < len(h.locks); i += len(h.lockers) {
				if err := do(locker, i); err != nil {
					h.fail(err)
				}
			}
		})
	}
	work.Wait()
}

func (h *heldLocks) fail(err error) {
	h.errors.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == nil {
		h.first = err
	}
}

// take takes all locks, or those that it can start within the limit, and returns the duration. Locks still pending
// after twice that are left pending when it returns, until ctx ends; done is closed when there are none.
func (h *heldLocks) take(ctx context.Context, limit time.Duration) (took time.Duration, done <-chan struct{}) {
	begun := time.Now()
	all := make(chan struct{})
	go func() {
		defer close(all)
		h.each(func(locker Locker, i int) (err error) {
			if time.Since(begun) > limit {
				return nil
			}
			if h.locks[i], err = locker.Lock(ctx, "bench/hold/"+strconv.Itoa(i)); err == nil {
				h.taken.Add(1)
			}
			return err
		})
	}()
	timer := time.NewTimer(2 * limit)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	}
	return time.Since(begun), all
}

// giveBack releases them. Locks left after the limit end with the servers.
func (h *heldLocks) giveBack(ctx context.Context, limit time.Duration) {
	begun := time.Now()
	h.each(func(_ Locker, i int) error {
		if h.locks[i] == nil || time.Since(begun) > limit {
			return nil
		}
		return h.locks[i].Unlock(ctx)
	})
}

// hold takes many locks, and measures the servers' memory before and with them.
func (b *bench) hold(ctx context.Context, t Target, cell Cell) (f Figures, first error, err error) {
	client, err := t.Connect(ctx, cell)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	h, err := newHeldLocks(ctx, client, b.Locks)
	if err != nil {
		return nil, nil, err
	}
	before, err := t.Usage(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	// The locks of some clients end with their context.
	taking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	took, done := h.take(taking, b.HoldLimit)
	after, err := t.Usage(ctx, true)
	taken := float64(h.taken.Load())
	select {
	case <-done:
	default:
		giveUp()
		<-done
	}
	if err != nil {
		return nil, nil, err
	}
	h.giveBack(ctx, b.HoldLimit)
	f = Figures{Count: taken, OpsPerS: taken / took.Seconds(), Errors: float64(h.errors.Load())}
	for _, grown := range []struct {
		metric Metric
		bytes  int64
	}{{BytesPerLock, after.Resident - before.Resident}, {HeapBytesPerLock, after.Heap - before.Heap}} {
		if taken > 0 && grown.bytes > 0 {
			f[grown.metric] = float64(grown.bytes) / taken
		}
	}
	if _, known := f[BytesPerLock]; !known && after.Heap > before.Heap {
		f[BytesPerLock] = f[HeapBytesPerLock] // the servers are in this process, or the system does not report it
	}
	if cpu := after.CPU - before.CPU; cpu > 0 && taken > 0 {
		f[ServerCPU] = micros(cpu) / taken
	}
	return f, h.first, nil
}
