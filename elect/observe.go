package elect

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Leader is a leader as an observer sees it. Where no candidate leads, it is zero but for Missed.
type Leader struct {
	// Value is what the leader has published; see [Value] and [Term.Announce].
	Value string
	// Token is the token of its term; 0 where no candidate leads.
	Token holdfast.Token
	// Since is the beginning of its term, by the clock of its member or of the store's client; for display.
	Since time.Time
	// Client is what the leader calls itself, or where it connects from.
	Client string
	// Missed reports that there may have been other leaders, or other values, between the one before and this one.
	Missed bool
}

// Observe yields the present leader, and then the next one whenever it changes, or its value does, until ctx ends or the
// caller stops the loop. Between two leaders it yields that there is none. Of several leaders at a time, as with
// holdfast.Slots, it shows the one that was elected last. It is no candidate, and needs none.
//
// An error is the last value, with a zero Leader; see [holdfast.Observer]. It is an ErrUnsupported if locks is no
// Observer.
func Observe(ctx context.Context, locks holdfast.Locker, name string) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		observer, is := locks.(holdfast.Observer)
		if !is {
			err := fmt.Errorf("%w: a %T shows no state of its names", holdfast.ErrUnsupported, locks)
			yield(Leader{}, &holdfast.Error{Op: "observe", Name: name, Err: err})
			return
		}
		var last Leader
		some, missed := false, false
		for state, err := range observer.Observe(ctx, name) {
			if err != nil {
				yield(Leader{}, err)
				return
			}
			now := leaderOf(state)
			missed = missed || state.Missed
			if some && now.Token == last.Token && now.Value == last.Value {
				continue // only the candidates have changed
			}
			some, last, now.Missed, missed = true, now, missed, false
			if !yield(now, nil) {
				return
			}
		}
	}
}

// leaderOf returns the leader in a state; a zero one if there is none.
func leaderOf(state holdfast.State) (l Leader) {
	if h, is := state.Leader(); is {
		l = Leader{Value: h.Value, Token: h.Token, Since: h.Since, Client: h.Client}
	}
	return l
}
