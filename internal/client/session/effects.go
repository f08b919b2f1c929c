package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// EffectKind is the kind of an Effect.
type EffectKind uint8

// The kinds of effects, each with its fields.
const (
	// Hold makes the lock of Request, with its Token and its HoldEnd, for the call that waits.
	Hold EffectKind = iota
	// Fail ends the call that waits for the lock of Request with Err.
	Fail
	// TimeOut ends it because its wait limit has passed, without the authority's answer.
	TimeOut
	// End ends the lock of Request because of Err.
	End
	// Move moves the end of the hold limit of the lock of Request to At.
	Move
	// AnswerExtend ends the call that waits for Extension, with Err if it was refused.
	AnswerExtend
	// AnswerAmend ends the call that waits for Amending, with Err if it was refused.
	AnswerAmend
	// FailRelease reports that the release of Request was refused, because of Err.
	FailRelease
	// Settle reports that Request is settled.
	Settle
	// TellQueued reports that Request waits at Position.
	TellQueued

	// Ask contacts the address of Contact for a stream.
	Ask
	// LetGo ends a Contact that is no longer wanted: after At, if a member may just be opening a session for it, which
	// must be ended.
	LetGo
	// Serve makes the stream of Contact the current one. It has Session, which Welcome has opened or resumed.
	Serve
	// Refuse closes the stream of Contact, because of Err. With Opened, the session that it has opened must be ended.
	Refuse
	// HangUp ends the current stream.
	HangUp
	// Begun reports that the first hello was answered, with Err if no session is possible.
	Begun

	// Renewed reports that the deadline of the session has moved.
	Renewed
	// CutTTL reports that from now on the session's ttl, At, is shorter than requested; Session has the reason.
	CutTTL
	// Late reports that heartbeats are not acknowledged, and that At is left until the deadline.
	Late
	// Forget reports that Session has ended: it was lost, or was taken over because of Err; with neither, its end was
	// acknowledged. Left counts the unsettled requests.
	Forget
	// Finish reports that nothing of the session is left to end.
	Finish
	// Quiet reports that no requested release is left.
	Quiet
	// Unmatched reports that operation ID, which is not this client's, was refused because of Err.
	Unmatched
)

// Effect is one action of the driver.
type Effect struct {
	Kind     EffectKind
	Lost     bool // Forget: the session is lost
	Opened   bool
	Position int32
	Request  *Request
	At       time.Duration
	Err      error
	*Detail  // nil for the frequent effects of a lock and its release
}

// Detail has the fields that only some kinds of effects need.
type Detail struct {
	Extension *Extension
	Amending  *Amending
	Contact   *Contact
	Session   *Session
	Welcome   *schema.Welcome
	Left      int
	ID        uint64
}

// Effects lists the actions of a Step, in order. The driver empties it.
type Effects struct {
	List []Effect
	Send bool // there is something to send
}

// Reset empties the effects, but keeps their memory.
func (e *Effects) Reset() {
	clear(e.List)
	e.List, e.Send = e.List[:0], false
}

func (e *Effects) add(f Effect) { e.List = append(e.List, f) }

func (e *Effects) of(kind EffectKind, r *Request, err error) {
	e.add(Effect{Kind: kind, Request: r, Err: err})
}
