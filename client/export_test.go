package client

import (
	"runtime"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Vanish cuts a Client off for good, without a goodbye: it keeps its locks until their
// deadline by its own clock, and reaches no member any more. It returns when the Client
// has found that out: a connection that it was just making is cut off too.
func Vanish(c *Client) {
	nowhere := api.Address{Network: "unix", Place: "/nowhere"}
	for c.ctx.Err() == nil {
		c.mu.Lock()
		c.addresses, c.learned, c.last = []api.Address{nowhere}, nil, nowhere
		if c.session != nil {
			c.session.at = nowhere
		}
		if c.stream != nil {
			c.stream.cancel()
		}
		gone := c.stream == nil && c.attempts.find(nowhere) != nil && c.attempts.find(nowhere).Err != errSilent
		c.mu.Unlock()
		if gone {
			return
		}
		runtime.Gosched()
	}
}

// withClock replaces the clock that deadlines are counted on.
func withClock(c clock.Clock) Option { return func(s *settings) { s.clock = c } }

// withDraw replaces what draws a length of time below another.
func withDraw(draw func(time.Duration) time.Duration) Option {
	return func(s *settings) { s.draw = draw }
}

// withGoodbye replaces the time that Close waits.
func withGoodbye(d time.Duration) Option {
	return func(s *settings) { s.goodbye, s.goodbyeEmpty = d, d }
}
