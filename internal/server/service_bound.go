package server

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// A wait limit is a promise: the answer leaves within half a second of it, even if a member
// is silent. The authority refuses first, since it knows most; its member a moment later
// (lock.WaitGrace); and this edge ends what still goes on after answerGrace. It then
// asks for the reason why nothing was granted, for explainLimit at the most.
const (
	answerGrace  = lock.WaitGrace + 50*time.Millisecond
	explainLimit = 100 * time.Millisecond
)

// errWaitOver ends what is done for an order whose wait limit has passed undecided.
var errWaitOver = errors.New("the wait limit has passed")

// bounded ends a context with the wait limit of an order.
func (s *service) bounded(ctx context.Context, o *order) (context.Context, context.CancelFunc) {
	if o.waitEnd == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(0, lock.After(o.waitEnd, answerGrace)-s.now()), errWaitOver)
}

// promptly returns what f returns, or false where a context ends before and f, which
// otherwise ends with it, waits for an answer that does not come. Then late gets what f
// returns some day.
func promptly[T any](ctx context.Context, s *service, f func() T, late func(T)) (got T, ok bool) {
	done := make(chan T, 1)
	s.background.Go(func() { done <- f() })
	select {
	case got = <-done:
		return got, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(explainLimit / 2)
	defer timer.Stop()
	select {
	case got = <-done:
		return got, true
	case <-timer.C:
		s.background.Go(func() { late(<-done) })
		return got, false
	}
}

// whyUnavailable adds to an ErrUnavailable what keeps this member from serving clients, as
// status shows it.
func (s *service) whyUnavailable(err error) error {
	if !errors.Is(err, holdfast.ErrUnavailable) || s.who == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.life, explainLimit)
	defer cancel()
	self, failure := s.who(ctx)
	if failure != nil {
		return err
	}
	return self.Unavailable(s.now(), err)
}
