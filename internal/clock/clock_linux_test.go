package clock

import (
	"sync"
	"testing"
	"time"
)

// TestRealIsBoottime: what is told lies between two readings of the clock that it stands
// for, but for the blur, and is mostly told without reading it.
func TestRealIsBoottime(t *testing.T) {
	c := newReal()
	for range 100_000 {
		before := bootTime()
		now := c.Now()
		if after := bootTime(); now < before-blur || now > after {
			t.Fatalf("told %v between %v and %v", now, before, after)
		}
	}
}

// TestRealReadsAgainAfterTrust: a difference is relied on for no longer than trust, and
// not at all where it took too long to be known.
func TestRealReadsAgainAfterTrust(t *testing.T) {
	c := newReal()
	c.Now()
	c.ahead.Add(-int64(time.Hour)) // as if the machine had slept since then
	c.until.Store(int64(time.Since(c.base)))
	before := bootTime()
	if now := c.Now(); now < before-blur {
		t.Errorf("told %v after %v", now, before)
	}
	c.until.Store(0)
	if _, ok := c.derive(); ok {
		t.Error("a difference that is not known was relied on")
	}
}

// TestRealNeverGoesBackForAnybody: what one goroutine was told is not after what another
// is told later.
func TestRealNeverGoesBackForAnybody(t *testing.T) {
	c := newReal()
	var mu sync.Mutex
	var last time.Duration
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20_000 {
				mu.Lock()
				now := c.Now()
				if now < last {
					t.Errorf("told %v after %v", now, last)
				}
				last = now
				mu.Unlock()
				c.Now()
			}
		})
	}
	all.Wait()
}
