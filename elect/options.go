package elect

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// Option changes a campaign.
type Option func(*settings)

// settings are the resolved options.
type settings struct {
	request []holdfast.Option
	pauses  backoff.Backoff
	onLoss  func(error)
	err     error
}

// The default pauses before another campaign.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 10 * time.Second
)

func resolve(options []Option) (settings, error) {
	s := settings{pauses: backoff.Backoff{Least: leastPause, Most: mostPause}}
	for _, option := range options {
		option(&s)
	}
	return s, s.err
}

// Value publishes a text with the leadership; see [holdfast.Value], which has its limits. [Term.Announce] replaces it.
func Value(text string) Option { return With(holdfast.Value(text)) }

// With passes options on to the request for the lock: an owner or a reason to show, a required class, a limit of a term
// (holdfast.Hold). With holdfast.Slots(1, n), up to n candidates lead at the same time.
func With(options ...holdfast.Option) Option {
	return func(s *settings) { s.request = append(slices.Clip(s.request), options...) }
}

// Backoff sets the pause of [Run] before it campaigns again: at random up to least after the first loss, up to twice
// that after the next one, and so on, up to most. A term that has lasted longer than most begins anew with least. The
// default is 100 ms to 10 s. Least has to be more than 0, and most no less than it: anything else is an ErrConflict.
func Backoff(least, most time.Duration) Option {
	return func(s *settings) {
		if least <= 0 || most < least {
			s.err = fmt.Errorf("%w: backoff from %v to %v: want more than 0, and no less", holdfast.ErrConflict, least, most)
		}
		s.pauses = backoff.Backoff{Least: least, Most: most}
	}
}

// OnLoss calls f whenever [Run] is about to campaign again: with the loss of the leadership and what the function has
// returned, in one error, or with why a campaign has failed. f must not block.
func OnLoss(f func(error)) Option { return func(s *settings) { s.onLoss = f } }
