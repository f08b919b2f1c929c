package gather

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

// Answer is the result of a swap.
type Answer struct {
	Swapped storage.Swapped
	Err     error
}

// Config is a driver's configuration. All fields are required.
type Config struct {
	// Lanes is the maximum number of concurrent requests; Most is the maximum number of swaps in one.
	Lanes, Most int
	// One does a swap, with the guarantees of [storage.Store.Swap].
	One func(ctx context.Context, s *storage.Swap) (storage.Swapped, error)
	// Many does several swaps of different columns in one request, and returns as many answers, in order. It must limit
	// its own time.
	Many func(swaps []*storage.Swap) []Answer
}

// Gatherer sends swaps. Its methods are safe for concurrent use.
type Gatherer struct {
	config Config

	mu        sync.Mutex
	queue     []*request
	busy      int  // lanes in use
	gathering bool // a lane has not started yet: it will take the swaps queued then
}

// request is a swap in progress.
type request struct {
	swap *storage.Swap
	done chan Answer // has room for one
}

// New returns a Gatherer.
func New(c Config) *Gatherer { return &Gatherer{config: c} }

// Swap does a swap, together with other waiting ones.
func (g *Gatherer) Swap(ctx context.Context, s *storage.Swap) (storage.Swapped, error) {
	if ctx.Err() != nil {
		return g.config.One(ctx, s) // returns the error in the driver's words
	}
	w := &request{swap: s, done: make(chan Answer, 1)}
	g.mu.Lock()
	g.queue = append(g.queue, w)
	if g.gathering || g.busy == g.config.Lanes {
		g.mu.Unlock()
		return g.await(ctx, w)
	}
	g.busy++
	g.gathering = true
	g.mu.Unlock()
	// Lets a runnable goroutine that is about to swap join.
	runtime.Gosched()
	g.mu.Lock()
	g.gathering = false
	batch := g.take()
	g.mu.Unlock()
	if len(batch) == 1 && batch[0] == w {
		swapped, err := g.config.One(ctx, s)
		if batch = g.next(); batch != nil {
			go g.run(batch)
		}
		return swapped, err
	}
	if len(batch) > 0 {
		go g.run(batch)
	} else if batch = g.next(); batch != nil {
		go g.run(batch)
	}
	return g.await(ctx, w)
}

// await waits for an answer, or for the end of ctx.
func (g *Gatherer) await(ctx context.Context, w *request) (storage.Swapped, error) {
	select {
	case a := <-w.done:
		return a.Swapped, a.Err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, w); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
		return storage.Swapped{}, fmt.Errorf("swap: %w: %w", storage.ErrRefused, ctx.Err())
	}
	return storage.Swapped{}, fmt.Errorf("swap: %w: %w", storage.ErrUnknown, ctx.Err())
}

// column identifies a swap's column.
type column struct{ key, name string }

// take removes the next batch from the queue: the first swaps, but no column twice. The caller holds the mutex.
func (g *Gatherer) take() (batch []*request) {
	if len(g.queue) == 1 {
		batch, g.queue = g.queue, nil
		return batch
	}
	taken := make(map[column]bool, len(g.queue))
	rest := g.queue[:0:0]
	for _, w := range g.queue {
		of := column{w.swap.Key, w.swap.Column}
		if len(batch) == g.config.Most || taken[of] {
			rest = append(rest, w)
			continue
		}
		taken[of] = true
		batch = append(batch, w)
	}
	g.queue = rest
	return batch
}

// next returns a lane's next batch; if it is empty, the lane is free.
func (g *Gatherer) next() []*request {
	g.mu.Lock()
	defer g.mu.Unlock()
	if batch := g.take(); len(batch) > 0 {
		return batch
	}
	g.busy--
	return nil
}

// run sends batches until the queue is empty.
func (g *Gatherer) run(batch []*request) {
	for ; batch != nil; batch = g.next() {
		swaps := make([]*storage.Swap, len(batch))
		for i, w := range batch {
			swaps[i] = w.swap
		}
		for i, a := range g.many(swaps) {
			batch[i].done <- a
		}
	}
}

// many does swaps, a single one by One.
func (g *Gatherer) many(swaps []*storage.Swap) []Answer {
	if len(swaps) > 1 {
		return g.config.Many(swaps)
	}
	// Its caller may be gone: the driver's own time limit applies.
	swapped, err := g.config.One(context.Background(), swaps[0])
	return []Answer{{swapped, err}}
}

// Failed returns the same error for count swaps.
func Failed(count int, err error) []Answer {
	return slices.Repeat([]Answer{{Err: err}}, count)
}

// Apart does swaps one by one, after a combined request failed because of one of them and all were undone.
func Apart(ctx context.Context, swaps []*storage.Swap, one func(context.Context, *storage.Swap) (storage.Swapped, error)) []Answer {
	answers := make([]Answer, len(swaps))
	for i, s := range swaps {
		answers[i].Swapped, answers[i].Err = one(ctx, s)
	}
	return answers
}
