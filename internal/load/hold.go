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

// holders is how many workers take the locks of Hold.
const holders = 64

// heldLocks is the locks of one measurement of Hold.
type heldLocks struct {
	lockers []Locker
	locks   []Held

	errors atomic.Int64
	mu     sync.Mutex
	first  error
}

// newHeldLocks prepares as many locks, and lets each worker take and release one, so that
// what the first use costs is not counted.
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

// each lets the workers do something with all locks, of which each has its share.
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

// take takes all locks and returns how long that took.
func (h *heldLocks) take(ctx context.Context) time.Duration {
	begun := time.Now()
	h.each(func(locker Locker, i int) (err error) {
		h.locks[i], err = locker.Lock(ctx, "bench/hold/"+strconv.Itoa(i))
		return err
	})
	return time.Since(begun)
}

// taken is how many are held.
func (h *heldLocks) taken() (count int) {
	for _, lock := range h.locks {
		if lock != nil {
			count++
		}
	}
	return count
}

// giveBack releases them.
func (h *heldLocks) giveBack(ctx context.Context) {
	h.each(func(_ Locker, i int) error {
		if h.locks[i] == nil {
			return nil
		}
		return h.locks[i].Unlock(ctx)
	})
}

// hold takes many locks, and looks at the servers' memory before and with them.
func hold(ctx context.Context, t Target, count int) (f Figures, first error, err error) {
	client, err := t.Connect(ctx, holders)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	h, err := newHeldLocks(ctx, client, count)
	if err != nil {
		return nil, nil, err
	}
	before, err := t.Usage(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	took := h.take(ctx)
	after, err := t.Usage(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	taken := float64(h.taken())
	h.giveBack(ctx)
	f = Figures{OpsPerS: taken / took.Seconds(), Errors: float64(h.errors.Load())}
	for _, grown := range []struct {
		metric Metric
		bytes  int64
	}{{BytesPerLock, after.Resident - before.Resident}, {HeapBytesPerLock, after.Heap - before.Heap}} {
		if taken > 0 && grown.bytes > 0 {
			f[grown.metric] = float64(grown.bytes) / taken
		}
	}
	if _, known := f[BytesPerLock]; !known && after.Heap > before.Heap {
		f[BytesPerLock] = f[HeapBytesPerLock] // the servers are in this process, or the system does not tell
	}
	if cpu := after.CPU - before.CPU; cpu > 0 && taken > 0 {
		f[ServerCPU] = micros(cpu) / taken
	}
	return f, h.first, nil
}
