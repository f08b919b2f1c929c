package client

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// withClock replaces the clock that deadlines are counted on.
func withClock(c clock.Clock) Option { return func(s *settings) { s.clock = c } }

// withDraw replaces what draws a length of time below another.
func withDraw(draw func(time.Duration) time.Duration) Option {
	return func(s *settings) { s.draw = draw }
}

// WithPatientClose lets Close wait for the end of a session for as long as a busy machine needs, where a member must hear of it.
func WithPatientClose(d time.Duration) Option { return func(s *settings) { s.goodbye = d } }

// withGoodbye replaces the time that Close waits.
func withGoodbye(d time.Duration) Option {
	return func(s *settings) { s.goodbye, s.goodbyeEmpty = d, d }
}

// withoutPause asks all addresses again at once: no clock has to be moved for that.
func withoutPause(s *settings) { s.jitter = func(half time.Duration) time.Duration { return -half } }
