package server

import (
	"cmp"
	"errors"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// errLongPoll ends a wait because one HTTP request waits no longer.
var errLongPoll = errors.New("the long poll is over")

// waitingError is an ErrHeld that may be asked again: the wait is not over. A request
// with an id has kept its place in the queue, for a while.
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

// refusal makes the error of an order that was not granted complete: who holds the
// name, and whether asking again goes on with the wait.
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
	err = s.explain(o.space, name, err)
	if late && err == holdfast.ErrHeld { // no holder is known, and no decision has come
		err = &holdfast.UnavailableError{Why: "the member that decides does not answer"}
	}
	if over {
		err = &waitingError{holds(err), o.Request != ""}
	}
	return failed("acquire", o.space.Name, name, err)
}

// holds makes an ErrHeld of the error of a wait that goes on.
func holds(err error) error {
	if errors.Is(err, holdfast.ErrHeld) {
		return err
	}
	return holdfast.ErrHeld
}

// unheld makes of an ErrHeld that names no holder why the space grants nothing, where it does
// not. What nothing holds is not held.
func (s *service) unheld(space *Space, err error) error {
	condition, failure := askBriefly[*protocol.Condition](s, space.Port, &protocol.Inspect{})
	switch {
	case failure != nil, condition.State == protocol.Ready, condition.State == protocol.Suspended:
		return err
	}
	return condition.Unavailable(s.now(), "")
}

// explain tells who holds the name that an ErrHeld is about. Where the refusal itself does
// not say it, because it was the wait that ended and not the request, that is asked for.
func (s *service) explain(space *Space, name string, err error) error {
	view := s.view()
	var by *lock.HeldBy
	var held *holdfast.HeldError
	switch {
	case errors.As(err, &by) && by.Holder != (lock.SessionID{}):
		return s.driver.Explain(err, view.Name)
	case !errors.Is(err, holdfast.ErrHeld), errors.As(err, &held) && held.Member != "":
		return err
	}
	shown, failure := askBriefly[*lock.Lock](s, space.Port, &protocol.Show{Name: name})
	if failure != nil || len(shown.Holders) == 0 {
		return s.unheld(space, err)
	}
	first := shown.Holders[0]
	told := &holdfast.HeldError{
		Owner: cmp.Or(first.Owner, first.Client), Member: view.Name(protocol.ID(first.Session.Member)),
		Since: s.driver.Wall(first.Since), Others: len(shown.Holders) - 1, Grace: first.Grace,
	}
	if first.Grace {
		told.Until = max(0, first.Until-s.now())
	}
	return told
}
