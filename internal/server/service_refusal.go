package server

import (
	"context"
	"errors"

	"github.com/holdfast-locks/holdfast"
)

// errLongPoll ends a wait at the time limit of one HTTP request.
var errLongPoll = errors.New("the long poll is over")

// waitingError is an ErrHeld that may be repeated: the wait is not over. A request with an id keeps its place in the
// queue for a while.
type waitingError struct {
	err  error
	kept bool
}

func (e *waitingError) Error() string {
	if e.kept {
		return e.err.Error() + "; still waiting: send the same request again"
	}
	return e.err.Error() + "; no longer waiting: send it again, with a request id to keep its place"
}

func (e *waitingError) Unwrap() error { return e.err }

// refusal completes the error of a refused order with the holder of the name, and with whether a repetition continues
// the wait.
func (s *service) refusal(o *order, err error) error {
	name := o.single()
	var wrapped *holdfast.Error
	if errors.As(err, &wrapped) && wrapped.Name != "" {
		name, err = wrapped.Name, wrapped.Err
	}
	over, late := errors.Is(err, errLongPoll), errors.Is(err, errWaitOver)
	if over || late {
		err = holdfast.ErrHeld
	}
	err = s.whyUnavailable(s.explain(o.space, name, err))
	var known *holdfast.HeldError
	if late && errors.Is(err, holdfast.ErrHeld) && !errors.As(err, &known) { // no holder is known, and no decision has come
		err = &holdfast.UnavailableError{Why: "the member that decides does not answer"}
	}
	err = s.conceal(o.Caller, o.space.Name, name, err)
	if over {
		err = &waitingError{holds(err), o.Request != ""}
	}
	return failed("acquire", o.space.Name, name, err)
}

// holds turns the error of a continuing wait into an ErrHeld.
func holds(err error) error {
	if errors.Is(err, holdfast.ErrHeld) {
		return err
	}
	return holdfast.ErrHeld
}

// explain adds the holder of the name to an ErrHeld. If the refusal does not have it, because the wait ended and not
// the request, explain asks for it.
func (s *service) explain(space *Space, name string, err error) error {
	ctx, cancel := context.WithTimeout(s.life, explainLimit)
	defer cancel()
	view := s.view()
	return s.driver.Refusal(ctx, space.Port, name, err, view.Name)
}
