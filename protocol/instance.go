package protocol

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Instance is a space at one member, for that member's own clients: it can be closed, and reopened ([CloseSpace],
// [OpenSpace]). This does not affect other members' clients in the space. The zero Instance is open.
type Instance struct {
	closed  bool
	closers []CallID // wait until nothing of this member's is left
}

// Closed reports whether the instance is closed, or about to be.
func (i *Instance) Closed() bool { return i.closed }

// Awaited reports whether a CloseSpace is waiting.
func (i *Instance) Awaited() bool { return len(i.closers) > 0 }

// Close closes the instance, and reports whether it was open: then the caller must notify all of this member's clients
// to stop. At most most callers wait for the end; a further one is refused, and the instance is closed nevertheless.
func (i *Instance) Close(call CallID, most int, out *Effects) (wasOpen bool) {
	if len(i.closers) >= most {
		out.Reply(call, &SpaceOpen{Err: &holdfast.LimitError{Limit: "operators", Value: int64(most)}})
		return false
	}
	i.closers = append(i.closers, call)
	wasOpen = !i.closed
	if wasOpen {
		out.Raise(&SpaceState{Closed: true})
	}
	i.closed = true
	return wasOpen
}

// Open opens the instance. A waiting CloseSpace call is answered that the instance is not closed.
func (i *Instance) Open(call CallID, out *Effects) {
	if i.closed {
		out.Raise(&SpaceState{})
	}
	i.closed = false
	i.answer(SpaceOpen{Open: true, Err: fmt.Errorf("%w: the space was opened again meanwhile", holdfast.ErrConflict)}, out)
	out.Reply(call, &SpaceOpen{Open: true})
}

// Conclude answers the CloseSpace calls: nothing of this member's is left.
func (i *Instance) Conclude(out *Effects) { i.answer(SpaceOpen{}, out) }

func (i *Instance) answer(answer SpaceOpen, out *Effects) {
	for _, closer := range i.closers {
		reply := answer
		out.Reply(closer, &reply)
	}
	i.closers = nil
}

// ErrClosed returns the error of requests, new or waiting, at a member where the instance is closed.
func ErrClosed(view *View, self ID) error {
	at := "this member"
	if view != nil {
		at = view.Name(self)
	}
	return &lock.Unavailable{Why: "the space is closed at " + at}
}
