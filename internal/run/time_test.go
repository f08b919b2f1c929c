package run_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

// tested is a clock whose timer can be fired at any time, and counts how often it is
// armed.
type tested struct {
	*clocktest.Manual
	timer *testedTimer
}

type testedTimer struct {
	clock.Timer
	fire chan struct{}
	sets []time.Duration
}

func newTested() *tested { return &tested{Manual: clocktest.NewManual()} }

func (c *tested) NewTimer() clock.Timer {
	c.timer = &testedTimer{Timer: c.Manual.NewTimer(), fire: make(chan struct{}, 1)}
	return c.timer
}

func (t *testedTimer) C() <-chan struct{} { return t.fire }

func (t *testedTimer) Reset(at time.Duration) { t.sets = append(t.sets, at) }

// TestTicksAtWake: the machine is ticked when it wants to be, not before, and once.
func TestTicksAtWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewManual()
		c.Advance(time.Hour) // the machine's time is not the clock's
		m := &scripted{wake: 5 * time.Second}
		var ticked []protocol.Time
		m.do = func(now protocol.Time, ev protocol.Event, _ *protocol.Effects) {
			if ev.Kind == protocol.Tick {
				ticked = append(ticked, now)
				m.wake = protocol.Never
			}
		}
		start(t, run.Config{Machine: m, Clock: c})
		for range 10 {
			c.Advance(time.Second)
			synctest.Wait()
		}
		same(t, "ticks", ticked, []protocol.Time{5 * time.Second})
	})
}

// TestArmedAnewWhenWakeChanges: to earlier, to later, and to never.
func TestArmedAnewWhenWakeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewManual()
		m := &scripted{wake: 10 * time.Second}
		var ticked []protocol.Time
		m.do = func(now protocol.Time, ev protocol.Event, _ *protocol.Effects) {
			switch ev.Kind {
			case protocol.Tick:
				ticked = append(ticked, now)
				m.wake = now + 20*time.Second
			case protocol.Receive:
				m.wake = ev.Fact.(protocol.Time)
			}
		}
		d := start(t, run.Config{Machine: m, Clock: c})
		to := func(at time.Duration) {
			for c.Now() < at {
				c.Advance(time.Second)
				synctest.Wait()
			}
		}
		wake := func(at protocol.Time) { d.Step(protocol.Event{Kind: protocol.Receive, Fact: at}) }
		wake(3 * time.Second)
		to(4 * time.Second) // ticked at 3, next 23
		wake(30 * time.Second)
		to(31 * time.Second) // ticked at 30, next 50
		wake(protocol.Never)
		to(60 * time.Second)
		wake(1 * time.Second) // long past
		synctest.Wait()       // ticked at 60
		same(t, "ticks", ticked, []protocol.Time{3 * time.Second, 30 * time.Second, 60 * time.Second})
	})
}

// TestSpuriousFiringsAreHarmless: a timer that fires too early ticks no machine, and is
// armed again.
func TestSpuriousFiringsAreHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTested()
		m := &scripted{wake: 5 * time.Second}
		d := start(t, run.Config{Machine: m, Clock: c})
		for range 3 {
			c.timer.fire <- struct{}{}
			synctest.Wait()
		}
		if len(m.steps) != 1 {
			t.Errorf("a spurious firing stepped the machine: %v", m.steps)
		}
		same(t, "the timer's times", c.timer.sets, []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second})
		c.Advance(5 * time.Second)
		c.timer.fire <- struct{}{}
		synctest.Wait()
		if len(m.steps) != 2 {
			t.Errorf("the timer's own firing was taken for a spurious one: %v", m.steps)
		}
		// No machine wants to be woken: a stray firing changes nothing.
		m.wake = protocol.Never
		d.Step(protocol.Event{Kind: protocol.Receive})
		steps := len(m.steps)
		c.timer.fire <- struct{}{}
		synctest.Wait()
		if len(m.steps) != steps {
			t.Errorf("a stray firing stepped the machine: %v", m.steps[steps:])
		}
	})
}

// TestArmsOnlyWhenWakeChanges: steps that do not move it cost no system call.
func TestArmsOnlyWhenWakeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTested()
		m := &scripted{wake: time.Second}
		d := start(t, run.Config{Machine: m, Clock: c})
		for range 5 {
			d.Step(protocol.Event{Kind: protocol.Receive})
		}
		m.wake = 2 * time.Second
		d.Step(protocol.Event{Kind: protocol.Receive})
		m.wake = protocol.Never
		d.Step(protocol.Event{Kind: protocol.Receive})
		same(t, "the timer's times", c.timer.sets, []time.Duration{time.Second, 2 * time.Second, clock.Never})
	})
}

// TestFarWakes: a time so far away that the clock cannot count to it is not mistaken
// for one long past.
func TestFarWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTested()
		c.Advance(time.Hour)
		start(t, run.Config{Machine: &scripted{wake: math.MaxInt64 - 1}, Clock: c})
		same(t, "the timer's times", c.timer.sets, []time.Duration{clock.Never})
	})
}

// TestRealClockTicks: with the machine's own clock no tick comes before its time.
func TestRealClockTicks(t *testing.T) {
	const step = 2 * time.Millisecond
	m := &scripted{wake: step}
	done := make(chan struct{})
	n := 0
	m.do = func(now protocol.Time, ev protocol.Event, _ *protocol.Effects) {
		if ev.Kind != protocol.Tick {
			return
		}
		if now < m.wake {
			t.Errorf("ticked at %v, before %v", now, m.wake)
		}
		m.wake = now + step
		if n++; n == 5 {
			m.wake = protocol.Never
			close(done)
		}
	}
	start(t, run.Config{Machine: m})
	<-done
}
