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

// Odds says how often each fault befalls a request: one time in so many, as chance has it. Zero
// means never.
type Odds struct {
	// Slow requests take a while before they take effect, and their answers, too. So those that
	// are under way at a time take effect in any order.
	Slow int
	// Refused requests are an ErrRefused, and nothing is done.
	Refused int
	// Never, Done and Later are writes that are answered by an ErrUnknown: of the first nothing
	// is done, the second has taken effect, the third does so a while after its answer.
	Never, Done, Later int
	// While bounds how long a while is. Zero means 5 ms.
	While time.Duration
}

// Faults counts what has befallen requests.
type Faults struct {
	Slow, Refused, Never, Done, Later int
	Reordered                         int // took effect before one that was asked for earlier
}

// Faulty is a store that does everything bad that the contract allows. Its requests go to
// another, which it delays, refuses, and does as it pleases when it has said that the outcome
// is not known; it never does half of one, nor shows what is no more. It may be used by many
// goroutines, as any store. Its watchers are notified late.
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
	waiting map[int64]struct{} // those that have arrived and not yet taken effect
}

// NewFaulty makes a store that fails as odds say, of one that does not; which it closes with
// itself. The seed decides which fault befalls the first request to come, which the second, and
// so on. Requests of several goroutines come in no order that a seed decides.
func NewFaulty(store storage.Store, seed uint64, odds Odds) *Faulty {
	if odds.While <= 0 {
		odds.While = 5 * time.Millisecond
	}
	f := &Faulty{store: store, odds: odds, dice: rand.New(rand.NewPCG(seed, 1)), waiting: map[int64]struct{}{}}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Faults counts what has happened until now.
func (f *Faulty) Faults() Faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults
}

// fate is what befalls one request.
type fate struct {
	arrival       int64
	before, after time.Duration
	fails         string // how, or ""
	later         time.Duration
}

// How a request fails.
const (
	failRefused = "refused"
	failNever   = "never done"
	failDone    = "done"
	failLater   = "done later"
)

// draw decides what befalls a request that has just come. Its last is to be given to settled.
func (f *Faulty) draw(writes bool) (fate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fate{}, fmt.Errorf("the store that is made to fail was closed: %w", storage.ErrInvalid)
	}
	f.arrived++
	is := fate{arrival: f.arrived}
	// All is drawn for each, so that one fault more or less changes no other's chances.
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
		f.later.Add(1) // as long as it is not closed
	}
	f.waiting[is.arrival] = struct{}{}
	return is, nil
}

// settled notes that a request takes effect now, or never will.
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

// wait returns false if one of both ends before.
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

// do has one request done by do, or not, as chance has it.
func (f *Faulty) do(ctx context.Context, writes bool, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(storage.ErrRefused, err)
	}
	is, err := f.draw(writes)
	if err != nil {
		return err
	}
	if is.fails == failLater {
		// The context is the caller's, who does not wait for this.
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

// doLater does what was answered before. Its outcome is not reported.
func (f *Faulty) doLater(ctx context.Context, is fate, do func(context.Context) error) {
	defer f.later.Done()
	timely := f.wait(ctx, is.later)
	f.settled(&is, timely)
	if timely {
		_ = do(ctx) // the caller knows that it may come to nothing
	}
}

// Mutate is the store's, or fails.
func (f *Faulty) Mutate(ctx context.Context, m *storage.Mutate) error {
	if err := m.Check(); err != nil {
		return err
	}
	own := *m // the caller may change his before it is done
	own.Additions, own.Deletions = slices.Clone(m.Additions), slices.Clone(m.Deletions)
	return f.do(ctx, true, func(ctx context.Context) error { return f.store.Mutate(ctx, &own) })
}

// Slice is the store's, or is refused.
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

// Swap is the store's, or fails.
func (f *Faulty) Swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	if err := w.Check(); err != nil {
		return storage.Swapped{}, err
	}
	own, swapped := *w, make(chan storage.Swapped, 1) // one that is done later has no reader
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

// Clock is the store's, or is refused.
func (f *Faulty) Clock(ctx context.Context) (at int64, err error) {
	err = f.do(ctx, false, func(ctx context.Context) (err error) {
		at, err = f.store.Clock(ctx)
		return err
	})
	return at, err
}

// Watch is the store's, or is refused; and what it tells comes late.
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

// Close ends what is under way, gives up what was to be done later, and closes the store.
func (f *Faulty) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.hub.Close()
	f.later.Wait()
	return f.store.Close()
}
