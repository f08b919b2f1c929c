package holdfast

import (
	"context"
	"iter"
	"time"
)

// Observer shows the state of a name and every change of it. The Lockers of this module are Observers: those of client,
// node and storelock, the ones that their Space returns, and those of holdfasttest.
type Observer interface {
	// Observe yields the current state of name, and then each new one, until ctx ends or the caller stops the loop. It
	// takes no lock and needs none.
	//
	// The states are in order, and none comes twice. Each grant is yielded, with each of its values, and so is its end;
	// the end of an exclusive holder comes before the next holder. Where changes may have been missed, since a member
	// could not be reached or the caller was slow, the next state says so: State.Missed. A caller that is slow is
	// never waited for.
	//
	// Observe goes on at another member if its own one ends. An error ends the loop, and is the last value: the error
	// of ctx; ErrName for an invalid name; ErrSpace; ErrDenied if the caller may not read the name; ErrClosed; and
	// ErrUnsupported where the protocol or the member cannot tell. The State that comes with an error is the zero one.
	Observe(ctx context.Context, name string) iter.Seq2[State, error]
}

// State is the state of a name at one moment.
type State struct {
	Space string
	Name  string
	// Holders are those who hold the name, in the order of their tokens. It is empty if the name is free. A holder whose
	// lock was lost or broken is none, even where the name stays taken until it has stopped.
	Holders []Holder
	// Waiters are the requests that wait, in the order in which they will probably be granted. A store without a queue
	// shows none.
	Waiters []Waiter
	// Missed reports that the name may have had other states between the one before and this one.
	Missed bool
}

// Leader returns the holder with the highest token, and reports whether there is one.
func (s State) Leader() (Holder, bool) {
	if len(s.Holders) == 0 {
		return Holder{}, false
	}
	return s.Holders[len(s.Holders)-1], true
}

// Holder is a grant as an observer sees it.
type Holder struct {
	Client string // what the client calls itself, or where it connects from; "" if it is the member's own process
	Owner  string // see Owner; "" if it has none
	Member string // the member that its client uses; "" in a store
	Reason string // see Reason; "" if it has none
	Value  string // see Value; "" if it has none
	Token  Token
	Mode   Mode
	Units  int       // 0 unless the mode is slots
	Since  time.Time // by the clock of its member, or of the store's client; for display
}

// Waiter is a waiting request as an observer sees it.
type Waiter struct {
	Client string
	Owner  string
	Member string
	Reason string
	Mode   Mode
	Units  int
	Since  time.Time // for display
}

// Wanted returns a channel that is closed once another request waits for the name, so that a holder can give way
// between two pieces of work. It is never closed if the lock ends first, or if the implementation has no queue to look
// at. The lock observes its name from the first call on; see [Observer].
func (l *Lock) Wanted() <-chan struct{} {
	ctx := l.Context()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending.wanted == nil {
		l.ending.wanted = make(chan struct{})
		if !l.ended {
			go l.watch(ctx, l.ending.wanted)
		}
	}
	return l.ending.wanted
}

// watch closes wanted once a request waits for the name.
func (l *Lock) watch(ctx context.Context, wanted chan<- struct{}) {
	for state, err := range l.backing.ObserveLock(ctx, l) {
		if err == nil && len(state.Waiters) > 0 {
			close(wanted)
			return
		}
	}
}
