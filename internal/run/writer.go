package run

import (
	"errors"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

// writer performs the machine's writes one after another on its own goroutine, because a sync takes milliseconds. The
// machine has one write in flight, so the queue is as short.
type writer struct {
	storage Storage
	answer  func(storage.Saved)

	mu     sync.Mutex
	queue  []storage.Save
	closed bool
	more   chan struct{} // signals the queue, buffered
}

func newWriter(s Storage, answer func(storage.Saved)) *writer {
	return &writer{storage: s, answer: answer, more: make(chan struct{}, 1)}
}

func (w *writer) save(s storage.Save) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.queue = append(w.queue, s)
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// close ends run after the queued writes.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.signal()
}

var errNoStorage = errors.New("this member keeps no state")

func (w *writer) run() {
	for range w.more {
		w.mu.Lock()
		queue, closed := w.queue, w.closed
		w.queue = nil
		w.mu.Unlock()
		for _, s := range queue {
			if w.storage == nil {
				w.answer(storage.Saved{ID: s.ID, Err: errNoStorage})
				continue
			}
			w.answer(w.storage.Save(s))
		}
		if closed {
			return
		}
	}
}
