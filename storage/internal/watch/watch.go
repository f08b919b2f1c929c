package watch

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

// Hub is the watchers of one Store. The zero Hub has none. Its methods may be called from many
// goroutines.
type Hub struct {
	mu       sync.Mutex
	rows     map[string]map[*watcher]struct{}
	closed   bool
	watchers sync.WaitGroup
	end      chan struct{} // closed by Close; made with the first watcher
}

// watcher is one call of Watch that goes on.
type watcher struct {
	// wake has room for one: all notices that come while the watcher is busy are one
	// thing to be looked at.
	wake    chan struct{}
	changed func()
}

// errClosed is of every kind that package storage wants of a call after Close.
var errClosed = fmt.Errorf("the store was closed: %w", storage.ErrInvalid)

// Watch has changed called soon after each Notify of key and each NotifyAll, until ctx ends or the
// Hub is closed: on a goroutine of its own, one call at a time, and one for all that came
// during the last. It may be called once more while ctx ends. Every Notify that begins after
// Watch has returned is heard.
//
// A key that no store takes, and a Hub that was closed, are an ErrInvalid; a ctx that has ended
// is an ErrRefused that wraps the context's error, too.
func (h *Hub) Watch(ctx context.Context, key string, changed func()) error {
	if err := (storage.Slice{Key: key}).Check(); err != nil {
		return fmt.Errorf("watch a row: %w", err)
	}
	if changed == nil {
		return fmt.Errorf("watch row %q: the callback is nil; give a function: %w", key, storage.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("watch row %q: %w: %w", key, storage.ErrRefused, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fmt.Errorf("watch row %q: %w", key, errClosed)
	}
	if h.rows == nil {
		h.rows, h.end = map[string]map[*watcher]struct{}{}, make(chan struct{})
	}
	if h.rows[key] == nil {
		h.rows[key] = map[*watcher]struct{}{}
	}
	w := &watcher{wake: make(chan struct{}, 1), changed: changed}
	h.rows[key][w] = struct{}{}
	h.watchers.Go(func() {
		w.listen(ctx, h.end)
		h.leave(key, w)
	})
	return nil
}

// listen calls back until one of both ends.
func (w *watcher) listen(ctx context.Context, end <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-w.wake:
		}
		if ctx.Err() != nil {
			return // of two that are ready, select takes any
		}
		w.changed()
	}
}

func (h *Hub) leave(key string, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.rows[key], w)
	if len(h.rows[key]) == 0 {
		delete(h.rows, key)
	}
}

func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // it has not looked yet at what came before
	}
}

// Notify tells the watchers of one row that it may have changed. It does not wait for them.
func (h *Hub) Notify(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.rows[key] {
		w.notify()
	}
}

// NotifyAll tells every watcher that something may have been missed. It does not wait for them.
func (h *Hub) NotifyAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range h.rows {
		for w := range row {
			w.notify()
		}
	}
}

// Close ends every Watch, and returns when no function is called back any more. It must
// not be called by a function that is called back. A second Close waits likewise.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed && h.end != nil {
		close(h.end)
	}
	h.closed = true
	h.mu.Unlock()
	h.watchers.Wait()
}
