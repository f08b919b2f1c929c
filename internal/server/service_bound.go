package server

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// A wait limit is a promise: the answer leaves within half a second of it, even if a member is silent. The authority
// refuses first, since it knows most; its member a moment later (lock.WaitGrace); and after answerGrace this edge ends
// everything still running. It then asks for the reason of the refusal, for at most explainLimit.
const (
	answerGrace  = lock.WaitGrace + 50*time.Millisecond
	explainLimit = 100 * time.Millisecond
)

// errWaitOver ends an order whose wait limit has passed without a decision.
var errWaitOver = errors.New("the wait limit has passed")

// bounded ends a context with the wait limit of an order.
func (s *service) bounded(ctx context.Context, o *order) (context.Context, context.CancelFunc) {
	if o.waitEnd == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(0, lock.After(o.waitEnd, answerGrace)-s.now()), errWaitOver)
}

// promptly returns the result of f, or false if a context ends first and f, which should end with it, waits for an
// answer that does not come. Then late gets the result of f when it arrives.
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

// whyUnavailable adds to an ErrUnavailable the reason why this member cannot serve clients, as in its status.
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
