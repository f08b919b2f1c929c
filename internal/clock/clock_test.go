package clock_test

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

func TestRealNeverGoesBack(t *testing.T) {
	c := clock.Real()
	last := c.Now()
	for range 10_000 {
		now := c.Now()
		if now < last {
			t.Fatalf("clock went back from %v to %v", last, now)
		}
		last = now
	}
}

func TestRealTimerFiresAfterItsTime(t *testing.T) {
	c := clock.Real()
	timer := c.NewTimer()
	defer timer.Stop()
	for range 3 {
		at := c.Now() + 5*time.Millisecond
		timer.Reset(at)
		<-timer.C()
		if now := c.Now(); now < at {
			t.Fatalf("timer for %v fired at %v", at, now)
		}
	}
	timer.Reset(0) // long past: fires at once
	<-timer.C()
	timer.Reset(clock.Never)
	timer.Stop()
	timer.Stop()
}

func BenchmarkNow(b *testing.B) {
	c := clock.Real()
	for b.Loop() {
		c.Now()
	}
}

func TestAlarmsRingInOrder(t *testing.T) {
	c := clocktest.NewManual()
	s := clock.NewAlarms(c)
	defer s.Close()
	rung := make(chan int, 8)
	var first, second, stopped clock.Alarm
	s.Set(&second, 2*time.Second, func() { rung <- 2 })
	s.Set(&stopped, time.Second, func() { rung <- 0 })
	s.Set(&first, 3*time.Second, func() { rung <- 9 })
	s.Set(&first, time.Second, func() { rung <- 1 }) // set anew
	s.Stop(&stopped)
	c.Advance(3 * time.Second)
	if a, b := <-rung, <-rung; a != 1 || b != 2 {
		t.Fatalf("alarms rang in the order %d %d", a, b)
	}
	s.Set(&first, 0, func() { rung <- 3 }) // long past: rings at once
	if a := <-rung; a != 3 {
		t.Fatalf("rang %d", a)
	}
	s.Close()
	s.Set(&first, 0, func() { rung <- 4 })
	s.Close()
	if len(rung) != 0 {
		t.Fatalf("rang %d after Close", <-rung)
	}
}
