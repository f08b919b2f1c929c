package client

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// alarms runs all alarms of a Client on one timer. Alarms ring with the Client's mutex held.
type alarms struct {
	timer clock.Timer
	queue clock.Queue
	over  bool
}

// arm sets a to ring at the time at, replacing its earlier time.
func (s *alarms) arm(a *clock.Alarm, at time.Duration) {
	if s.over {
		return
	}
	s.queue.Set(a, at)
	if s.queue.First() == at {
		s.timer.Reset(at)
	}
}

// ring rings all alarms that are due, and sets the timer to the next one.
func (s *alarms) ring(now time.Duration) {
	for a := s.queue.Due(now); a != nil; a = s.queue.Due(now) {
		a.Ring()
	}
	if !s.over {
		s.timer.Reset(s.queue.First())
	}
}

// stop disarms all alarms.
func (s *alarms) stop() {
	s.over = true
	s.timer.Stop()
}

// keepTime rings the alarms until the Client is closed.
func (c *Client) keepTime() {
	for {
		select {
		case <-c.alarms.timer.C():
		case <-c.ctx.Done():
			c.mu.Lock()
			c.alarms.stop()
			c.mu.Unlock()
			return
		}
		c.mu.Lock()
		c.alarms.ring(c.clock.Now())
		c.mu.Unlock()
	}
}
