package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// A context reports only that its time is over. So its deadline is also sent to the authority as a wait limit: then the
// authority's refusal names the holder. Package client does the same.
const (
	// clearlySooner is how much earlier than a wait limit a context's deadline must be to replace it. A caller that
	// gives both the same duration means the limit.
	clearlySooner = time.Second
	// contextGrace is how long a call waits, beyond the deadline of its context, for the authority's answer.
	contextGrace = 250 * time.Millisecond
	// refusalLimit is how long a refused call asks for the holder of the name, if the refusal does not have it.
	refusalLimit = 150 * time.Millisecond
)

// boundWait sets the end of a request's wait to the deadline of its call's context, if that is clearly sooner, and
// reports whether it does.
func (s *localSession) boundWait(request *lock.Request, deadline time.Time) bool {
	end := after(request.Arrived, max(1, time.Until(deadline)))
	if after(end, clearlySooner) >= request.WaitEnd {
		return false
	}
	request.WaitEnd = end
	return true
}

// awaitDecision waits, beyond the deadline of a call's context, for the authority's answer.
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

// whyEnded joins the error of a context whose deadline has ended a call with the authority's answer. Over reports that
// the deadline has passed.
func whyEnded(reason error, over bool) error {
	if errors.Is(reason, holdfast.ErrHeld) || errors.Is(reason, holdfast.ErrUnavailable) && over {
		return fmt.Errorf("%w: %w", reason, context.DeadlineExceeded)
	}
	return reason
}
