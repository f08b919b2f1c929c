package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// A context says that its time is over, and no more. So its deadline is a wait limit as well,
// which the authority knows: that says who holds the name then. Package client does the same.
const (
	// clearlySooner is how much the deadline of a context has to be before a wait limit to
	// count in its place. A caller that gives both the same length means that limit.
	clearlySooner = time.Second
	// contextGrace is how long a call waits, beyond the deadline of its context, for the word of
	// the authority.
	contextGrace = 250 * time.Millisecond
	// refusalLimit is how long a call that was refused asks who holds the name, where the refusal does not say it.
	refusalLimit = 150 * time.Millisecond
)

// boundWait lets the wait of a request end at the deadline of its call's context, where that is
// clearly sooner, and reports whether it does.
func (s *localSession) boundWait(request *lock.Request, deadline time.Time) bool {
	end := after(request.Arrived, max(1, time.Until(deadline)))
	if after(end, clearlySooner) >= request.WaitEnd {
		return false
	}
	request.WaitEnd = end
	return true
}

// awaitDecision waits, beyond the deadline of a call's context, for what the authority says about it.
func (w *wait) awaitDecision(ctx context.Context) (d lock.Decision) {
	if ctx.Err() != context.DeadlineExceeded {
		return d
	}
	timer := time.NewTimer(contextGrace)
	defer timer.Stop()
	select {
	case d = <-w.decided:
	case <-timer.C:
	}
	return d
}

// whyEnded joins the error of a context whose deadline has ended a call with what the authority
// has said about that. Over says that the deadline has passed.
func whyEnded(reason error, over bool) error {
	if errors.Is(reason, holdfast.ErrHeld) || errors.Is(reason, holdfast.ErrUnavailable) && over {
		return fmt.Errorf("%w: %w", reason, context.DeadlineExceeded)
	}
	return reason
}
