//go:build !linux

package clock

import (
	"sync"
	"time"
)

// goTimer is a timer of Go's runtime.
type goTimer struct {
	c     chan struct{}
	mu    sync.Mutex
	timer *time.Timer
}

// NewTimer returns a timer that is not armed.
func (real) NewTimer() Timer { return &goTimer{c: make(chan struct{}, 1)} }

func (t *goTimer) C() <-chan struct{} { return t.c }

func (t *goTimer) Reset(at time.Duration) {
	t.Stop()
	if at == Never {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(at-real{}.Now(), func() {
		select {
		case t.c <- struct{}{}:
		default:
		}
	})
}

func (t *goTimer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
