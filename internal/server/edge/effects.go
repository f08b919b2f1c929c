package edge

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// EffectKind says what an Effect is.
type EffectKind uint8

// The kinds of effects. The fields that each has are named behind it.
const (
	Nothing EffectKind = iota // is wanted
	Admit                     // a hello that costs Requests or Returns, and attach the stream to the member
	Check                     // by the answer to Fact, a *session.Check, which is not asked under the number of the stream
	Occupy                    // Session with this stream: end an earlier one with Err, so that nothing of it steps the member afterwards
	Ask                       // Fact of the member, as the call of the hello, HelloCall
	Welcome                   // the client: the outbox takes the welcome
	Refuse                    // the hello because of Err (Outbox.Refuse)
)

// Effect is the next wish of the greeting.
type Effect struct {
	Kind              EffectKind
	Requests, Returns int
	Fact              any
	Session           lock.SessionID
	Err               error
}

// Effects lists what a Step wants done. The driver empties it. Nothing keeps a pointer into its memory beyond the step of its Calls.
type Effects struct {
	Do    Effect
	Calls []protocol.Event // to be stepped in one go
	Says  []Outgoing       // for the outbox, before that
	Taken int              // operations of the frame
	Over  bool             // the end of the session is asked for: what is behind it is not taken

	welcome *Outgoing
	wanted  time.Duration // the ttl that is asked for from now on; 0 where it is as before

	requests []lock.Request
	releases []protocol.Release
	cancels  []protocol.Cancel
}

// ForOutbox reports whether there is something for [Outbox.Apply].
func (e *Effects) ForOutbox() bool { return len(e.Says) > 0 || e.welcome != nil || e.wanted > 0 }

// Reset empties the effects, and keeps their memory.
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
