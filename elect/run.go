package elect

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// Run campaigns for a name, and calls lead each time this candidate leads. It returns when ctx ends, or when lead
// returns while it leads, with the error of lead; then the candidate has resigned.
//
// The context of lead ends with ctx or with the leadership, whichever is first, and before another candidate leads;
// context.Cause returns which. Run waits until lead has returned, so that lead never runs twice at a time, and then
// campaigns again if the leadership was lost, no matter what lead has returned: most errors are then a consequence of the
// loss. [OnLoss] reports them.
//
// A campaign fails for a time without an available member, or at a limit; Run campaigns again. The pause before each
// further campaign is that of [Backoff]. Run returns every other error of the campaign: a bad name, a denied or closed
// Locker, a class that the space does not offer. If lead panics, the candidate resigns, and the panic goes on.
func Run(ctx context.Context, locks holdfast.Locker, name string, lead func(ctx context.Context, term Term) error, options ...Option) error {
	s, err := resolve(options)
	if err != nil {
		return &holdfast.Error{Op: "campaign", Name: name, Err: err}
	}
	for pauses := s.pauses; ; {
		began := time.Now()
		led := false
		err := holdfast.Do(ctx, locks, name, func(ctx context.Context, lock *holdfast.Lock) error {
			led, began = true, time.Now()
			return lead(ctx, Term{lock})
		}, s.request...)
		if ctx.Err() != nil || !again(err, led) {
			return err
		}
		if s.onLoss != nil {
			s.onLoss(err)
		}
		if led && time.Since(began) > pauses.Most {
			pauses.Reset()
		}
		if backoff.Sleep(ctx, pauses.Next()) != nil {
			return ctx.Err()
		}
	}
}

// again reports whether Run campaigns again after that result.
func again(err error, led bool) bool {
	if led {
		return errors.Is(err, holdfast.ErrLost)
	}
	for _, passing := range []error{holdfast.ErrUnavailable, holdfast.ErrLimit, holdfast.ErrLost, holdfast.ErrHeld} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}
