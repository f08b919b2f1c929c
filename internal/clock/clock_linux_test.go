package clock

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRealIsBoottime: the time lies between two readings of the clock that it stands
// for, but for the blur, and mostly comes without reading it.
func TestRealIsBoottime(t *testing.T) {
	c := newReal()
	for range 100_000 {
		before := bootTime()
		now := c.Now()
		if after := bootTime(); now < before-blur || now > after {
			t.Fatalf("got %v between %v and %v", now, before, after)
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
		t.Errorf("got %v after %v", now, before)
	}
	c.until.Store(0)
	if _, ok := c.derive(); ok {
		t.Error("a difference that is not known was relied on")
	}
}

// TestRealNeverGoesBackForAnyGoroutine: the time that one goroutine got is not after what another
// gets later.
func TestRealNeverGoesBackForAnyGoroutine(t *testing.T) {
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
					t.Errorf("got %v after %v", now, last)
				}
				last = now
				mu.Unlock()
				c.Now()
			}
		})
	}
	all.Wait()
}

// TestTimersShareADescriptor: a thousand timers have one descriptor, each fires at its own
// time and in the order of the times, and the descriptor is closed with the last of them.
func TestTimersShareADescriptor(t *testing.T) {
	before := descriptors(t)
	c := Real()
	timers := make([]Timer, 1000)
	start := c.Now()
	for i := range timers {
		timers[i] = c.NewTimer()
		timers[i].Reset(start + time.Duration(len(timers)-i)*20*time.Microsecond)
	}
	if with := descriptors(t); with != before+1 {
		t.Errorf("%d descriptors with %d timers, %d without: want one more", with, len(timers), before)
	}
	for i := len(timers) - 1; i >= 0; i-- {
		<-timers[i].C()
		if at := start + time.Duration(len(timers)-i)*20*time.Microsecond; c.Now() < at-blur {
			t.Errorf("timer %d fired at %v, before %v", i, c.Now(), at)
		}
	}
	timers[0].Reset(Never)
	timers[1].Reset(c.Now() + time.Hour)
	timers[2].Reset(c.Now() + time.Millisecond)
	<-timers[2].C()
	for i, timer := range timers {
		select {
		case <-timer.C():
			t.Errorf("timer %d fired again", i)
		default:
		}
		timer.Stop()
		timer.Stop()
		timer.Reset(c.Now())
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors after the last timer was stopped, want %d", after, before)
	}
}

// descriptors counts the timerfds that this process has open.
func descriptors(t *testing.T) (n int) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if to, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && strings.Contains(to, "timerfd") {
			n++
		}
	}
	return n
}
