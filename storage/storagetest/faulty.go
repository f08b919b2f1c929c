package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// Odds gives the frequency of each fault: a value of n means one request in n, at random. Zero means never.
type Odds struct {
	// Slow requests and their answers are delayed, so that concurrent ones take effect in any order.
	Slow int
	// Refused requests are an ErrRefused, and have no effect.
	Refused int
	// Never, Done and Later are writes that are answered by an ErrUnknown: the first has no effect, the second has
	// taken effect, the third does so a while after its answer.
	Never, Done, Later int
	// While is the maximum length of a delay. Zero means 5 ms.
	While time.Duration
}

// Faults counts the faults so far.
type Faults struct {
	Slow, Refused, Never, Done, Later int
	Reordered                         int // took effect before an earlier request
}

// Faulty is a store with every fault that the contract allows. It forwards requests to another store, which it delays
// and refuses, and whose effect is random after an unknown outcome; it never does half of a request, nor returns old
// state. It is safe for concurrent use, as any store. Its watchers are notified late.
type Faulty struct {
	store storage.Store
	odds  Odds
	hub   watch.Hub
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	later sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	dice    *rand.Rand
	faults  Faults
	arrived int64
	waiting map[int64]struct{} // requests that have arrived and not yet taken effect
}

// NewFaulty returns a store that fails according to odds, over one that does not; closing it closes the other. The seed
// determines the fault of the first request to arrive, of the second, and so on. It does not determine the order of
// requests of several goroutines.
func NewFaulty(store storage.Store, seed uint64, odds Odds) *Faulty {
	if odds.While <= 0 {
		odds.While = 5 * time.Millisecond
	}
	f := &Faulty{store: store, odds: odds, dice: rand.New(rand.NewPCG(seed, 1)), waiting: map[int64]struct{}{}}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Faults returns the counts so far.
func (f *Faulty) Faults() Faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults
}

// fate is the fault of one request.
type fate struct {
	arrival       int64
	before, after time.Duration
	fails         string // how, or ""
	later         time.Duration
}

// The ways in which a request fails.
const (
	failRefused = "refused"
	failNever   = "never done"
	failDone    = "done"
	failLater   = "done later"
)

// draw draws the fate of an arriving request. Pass it to settled at the end.
func (f *Faulty) draw(writes bool) (fate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fate{}, fmt.Errorf("the store that is made to fail was closed: %w", storage.ErrInvalid)
	}
	f.arrived++
	is := fate{arrival: f.arrived}
	// Always draw everything, so that one more or less fault does not change the others' draws.
	hit := func(odds int) bool { return f.dice.IntN(max(odds, 1)) == 0 && odds > 0 }
	slow, refused, never, done, later := hit(f.odds.Slow), hit(f.odds.Refused), hit(f.odds.Never), hit(f.odds.Done), hit(f.odds.Later)
	before, after, while := f.dice.Int64N(int64(f.odds.While)), f.dice.Int64N(int64(f.odds.While)), f.dice.Int64N(int64(f.odds.While))
	if slow {
		is.before, is.after = time.Duration(before), time.Duration(after)
		f.faults.Slow++
	}
	switch {
	case refused:
		is.fails = failRefused
		f.faults.Refused++
	case !writes:
	case never:
		is.fails = failNever
		f.faults.Never++
	case done:
		is.fails = failDone
		f.faults.Done++
	case later:
		is.fails, is.later = failLater, time.Duration(while)
		f.faults.Later++
		f.later.Add(1) // unless it is closed
	}
	f.waiting[is.arrival] = struct{}{}
	return is, nil
}

// settled records that a request takes effect now, or never will.
func (f *Faulty) settled(is *fate, effective bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, is.arrival)
	for other := range f.waiting {
		if effective && other < is.arrival {
			f.faults.Reordered++
			return
		}
	}
}

// wait returns false if ctx or the store ends first.
func (f *Faulty) wait(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-f.ctx.Done():
	}
	return false
}

// do executes a request by do, or not, depending on its fate.
func (f *Faulty) do(ctx context.Context, writes bool, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(storage.ErrRefused, err)
	}
	is, err := f.draw(writes)
	if err != nil {
		return err
	}
	if is.fails == failLater {
		// The context is the caller's, which does not wait for this.
		go f.doLater(context.WithoutCancel(ctx), is, do)
		return fmt.Errorf("%w: made to fail: %s", storage.ErrUnknown, is.fails)
	}
	if !f.wait(ctx, is.before) {
		f.settled(&is, false)
		return errors.Join(fmt.Errorf("%w: it was not sent yet", storage.ErrRefused), ctx.Err())
	}
	f.settled(&is, is.fails == "" || is.fails == failDone)
	switch is.fails {
	case failRefused:
		return fmt.Errorf("%w: made to fail", storage.ErrRefused)
	case failNever:
		return fmt.Errorf("%w: made to fail: %s", storage.ErrUnknown, is.fails)
	}
	if err := do(ctx); err != nil {
		return err
	}
	switch {
	case is.fails == failDone:
		return fmt.Errorf("%w: made to fail: %s", storage.ErrUnknown, is.fails)
	case f.wait(ctx, is.after):
		return nil
	case writes:
		return errors.Join(fmt.Errorf("%w: its answer was not waited for", storage.ErrUnknown), ctx.Err())
	}
	return errors.Join(fmt.Errorf("%w: its answer was not waited for", storage.ErrRefused), ctx.Err())
}

// doLater executes a request that was already answered. Its outcome is not reported.
func (f *Faulty) doLater(ctx context.Context, is fate, do func(context.Context) error) {
	defer f.later.Done()
	timely := f.wait(ctx, is.later)
	f.settled(&is, timely)
	if timely {
		_ = do(ctx) // the caller knows that it may have no effect
	}
}

// Mutate forwards to the store, or fails.
func (f *Faulty) Mutate(ctx context.Context, m *storage.Mutate) error {
	if err := m.Check(); err != nil {
		return err
	}
	own := *m // the caller may change m before it is done
	own.Additions, own.Deletions = slices.Clone(m.Additions), slices.Clone(m.Deletions)
	return f.do(ctx, true, func(ctx context.Context) error { return f.store.Mutate(ctx, &own) })
}

// Slice forwards to the store, or is refused.
func (f *Faulty) Slice(ctx context.Context, r *storage.Slice) (entries []storage.Entry, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	err = f.do(ctx, false, func(ctx context.Context) (err error) {
		entries, err = f.store.Slice(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Swap forwards to the store, or fails.
func (f *Faulty) Swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	if err := w.Check(); err != nil {
		return storage.Swapped{}, err
	}
	own, swapped := *w, make(chan storage.Swapped, 1) // a later one has no reader
	err := f.do(ctx, true, func(ctx context.Context) error {
		done, err := f.store.Swap(ctx, &own)
		swapped <- done
		return err
	})
	if err != nil {
		return storage.Swapped{}, err
	}
	return <-swapped, nil
}

// Clock forwards to the store, or is refused.
func (f *Faulty) Clock(ctx context.Context) (at int64, err error) {
	err = f.do(ctx, false, func(ctx context.Context) (err error) {
		at, err = f.store.Clock(ctx)
		return err
	})
	return at, err
}

// Watch forwards to the store, or is refused; its notices are late.
func (f *Faulty) Watch(ctx context.Context, key string, changed func()) error {
	err := f.do(ctx, false, func(ctx context.Context) error { return nil })
	if err != nil {
		return err
	}
	late := func() {
		f.mu.Lock()
		while := time.Duration(f.dice.Int64N(int64(f.odds.While)))
		f.mu.Unlock()
		if f.wait(ctx, while) {
			changed()
		}
	}
	if err := f.hub.Watch(ctx, key, late); err != nil {
		return err
	}
	return f.store.Watch(ctx, key, func() { f.hub.Notify(key) })
}

// Features are the store's.
func (f *Faulty) Features() storage.Features { return f.store.Features() }

// Close ends requests in progress, drops later ones, and closes the store.
func (f *Faulty) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.hub.Close()
	f.later.Wait()
	return f.store.Close()
}
