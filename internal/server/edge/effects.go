package edge

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// EffectKind is the kind of an Effect.
type EffectKind uint8

// The kinds of effects, each with its fields.
const (
	Nothing EffectKind = iota // no effect
	Admit                     // admit a hello that costs Requests or Returns, and attach the stream to the member
	Check                     // check by the answer to Fact, a *session.Check, which is not asked under the number of the stream
	Occupy                    // occupy Session with this stream: end an earlier one with Err, so that nothing of it steps the member afterwards
	Ask                       // ask the member Fact, as the call of the hello, HelloCall
	Welcome                   // welcome the client: the outbox takes the welcome
	Refuse                    // refuse the hello because of Err (Outbox.Refuse)
)

// Effect is the next action that the greeting needs.
type Effect struct {
	Kind              EffectKind
	Requests, Returns int
	Fact              any
	Session           lock.SessionID
	Err               error
}

// Effects lists the actions of a Step. The driver empties it. Pointers into its memory are valid only until its Calls
// are stepped.
type Effects struct {
	Do    Effect
	Calls []protocol.Event // to be made in one step
	Says  []Outgoing       // for the outbox, before that
	Taken int              // operations of the frame that were processed
	Over  bool             // the end of the session is requested: later operations are not processed

	welcome *Outgoing
	wanted  time.Duration // the ttl requested from now on; 0 if unchanged

	requests []lock.Request
	releases []protocol.Release
	cancels  []protocol.Cancel
}

// ForOutbox reports whether there is something for [Outbox.Apply].
func (e *Effects) ForOutbox() bool { return len(e.Says) > 0 || e.welcome != nil || e.wanted > 0 }

// Reset empties the effects, but keeps their memory.
func (e *Effects) Reset() {
	e.Do, e.Taken, e.Over, e.welcome, e.wanted = Effect{}, 0, false, nil, 0
	e.Calls, e.Says = emptied(e.Calls), emptied(e.Says)
	e.requests, e.releases, e.cancels = emptied(e.requests), emptied(e.releases), emptied(e.cancels)
}

// grow makes room for n of each, so that no pointer moves while they are filled.
func (e *Effects) grow(n int) {
	e.Calls = slices.Grow(e.Calls, n)
	e.requests = slices.Grow(e.requests, n)
	e.releases = slices.Grow(e.releases, n)
	e.cancels = slices.Grow(e.cancels, n)
}

func emptied[T any](used []T) []T {
	clear(used)
	return used[:0]
}
