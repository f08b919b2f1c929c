package protocol

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Instance is a space at one member, as far as that member's own clients are concerned: it can
// be closed, and opened again ([CloseSpace], [OpenSpace]). What others have in the space is not
// touched by that. The zero Instance is open.
type Instance struct {
	closed  bool
	closers []CallID // wait to hear that nothing of this member's is left
}

// Closed reports whether the instance is closed, or about to be.
func (i *Instance) Closed() bool { return i.closed }

// Awaited reports whether a CloseSpace waits for nothing to be left.
func (i *Instance) Awaited() bool { return len(i.closers) > 0 }

// Close closes the instance, and reports whether it was open: then all of this member's clients
// must be notified to stop. Of those who ask for it at most so many hear when it is done;
// one more is refused that, and it is closed nevertheless.
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

// Open opens the instance. A call that waits for its being closed is answered that it is not.
func (i *Instance) Open(call CallID, out *Effects) {
	if i.closed {
		out.Raise(&SpaceState{})
	}
	i.closed = false
	i.answer(SpaceOpen{Open: true, Err: fmt.Errorf("%w: the space was opened again meanwhile", holdfast.ErrConflict)}, out)
	out.Reply(call, &SpaceOpen{Open: true})
}

// Conclude tells the callers that closed the instance that nothing of this member's is left.
func (i *Instance) Conclude(out *Effects) { i.answer(SpaceOpen{}, out) }

func (i *Instance) answer(answer SpaceOpen, out *Effects) {
	for _, closer := range i.closers {
		reply := answer
		out.Reply(closer, &reply)
	}
	i.closers = nil
}

// ErrClosed is why nothing is taken while the instance is closed at a member, and why what
// waits there is refused.
func ErrClosed(view *View, self ID) error {
	at := "this member"
	if view != nil {
		at = view.Name(self)
	}
	return &lock.Unavailable{Why: "the space is closed at " + at}
}
