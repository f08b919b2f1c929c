package watch

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

// Hub is the set of watchers of one Store. The zero Hub has none. Its methods are safe for concurrent use.
type Hub struct {
	mu       sync.Mutex
	rows     map[string]map[*watcher]struct{}
	closed   bool
	watchers sync.WaitGroup
	end      chan struct{} // closed by Close; made with the first watcher
}

// watcher is one call of Watch in progress.
type watcher struct {
	// wake has room for one: all notices that come while the watcher is busy cause one call.
	wake    chan struct{}
	changed func()
}

// errClosed is the error of a call after Close.
var errClosed = fmt.Errorf("the store was closed: %w", storage.ErrInvalid)

// Watch calls changed soon after each Notify of key and each NotifyAll, until ctx ends or the Hub is closed: on its own
// goroutine, one call at a time, and once for all notices during the previous call. It may call changed once more while
// ctx ends. No Notify that begins after Watch has returned is missed.
//
// An invalid key, and a closed Hub, are an ErrInvalid; a ctx that has ended is an ErrRefused that also wraps the
// context's error.
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

// listen calls back until ctx or the Hub ends.
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
			return // if both are ready, select takes any
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
	default: // the previous notice is still pending
	}
}

// Notify notifies the watchers of one row that it may have changed. It does not wait for them.
func (h *Hub) Notify(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.rows[key] {
		w.notify()
	}
}

// NotifyAll notifies every watcher that a change may have been missed. It does not wait for them.
func (h *Hub) NotifyAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range h.rows {
		for w := range row {
			w.notify()
		}
	}
}

// Close ends every Watch, and returns when no callback is running. A callback must not call it. A second Close waits as
// well.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed && h.end != nil {
		close(h.end)
	}
	h.closed = true
	h.mu.Unlock()
	h.watchers.Wait()
}
