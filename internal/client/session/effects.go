package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// EffectKind says what an Effect is.
type EffectKind uint8

// The kinds of effects. The fields that each has are named behind it.
const (
	// Hold makes the lock of Request, with its Token and its HoldEnd, for the call that waits.
	Hold EffectKind = iota
	// Fail ends the call that waits for the lock of Request with Err.
	Fail
	// TimeOut ends it because its wait limit has passed, without the word of the authority.
	TimeOut
	// End ends the lock of Request because of Err.
	End
	// Move moves the end of the hold limit of the lock of Request to At.
	Move
	// AnswerExtend ends the call that waits for Extension, with Err where it was refused.
	AnswerExtend
	// FailRelease says that the release of Request was refused, because of Err.
	FailRelease
	// Settle says that nothing is left to do for Request.
	Settle
	// TellQueued says that Request waits at Position.
	TellQueued

	// Ask asks the place of Contact for a stream.
	Ask
	// LetGo ends a Contact that is not wanted any more: after At, where a member may just open a session for it, which is to be ended.
	LetGo
	// Serve makes the stream of Contact the one that there is. It has Session, which Welcome has opened or resumed.
	Serve
	// Refuse leaves the stream of Contact, because of Err. Opened says that the session that it has opened is to be ended.
	Refuse
	// HangUp ends the stream that there is.
	HangUp
	// Begun says that the first hello was answered, with Err where no session can be had.
	Begun

	// Renewed says that the deadline of the session has moved.
	Renewed
	// CutTTL says that the ttl of the session, At, is shorter than was asked for from now on, for the reason Session has.
	CutTTL
	// Late says that heartbeats are not acknowledged, and that At is left until the deadline.
	Late
	// Forget says that Session has ended: it was lost, or was taken over because of Err; with neither, its end
	// was acknowledged. Left counts the requests that were not settled.
	Forget
	// Finish says that nothing of the session is left to end.
	Finish
	// Quiet says that no release that a caller has asked for is left.
	Quiet
	// Unmatched says that operation ID was refused, because of Err, and that it is none of this client's.
	Unmatched
)

// Effect is one thing to do.
type Effect struct {
	Kind     EffectKind
	Lost     bool // Forget: the session is lost
	Opened   bool
	Position int32
	Request  *Request
	At       time.Duration
	Err      error
	*Detail  // nil for those of a lock and its release, which are many
}

// Detail has the fields of some kinds of effects only.
type Detail struct {
	Extension *Extension
	Contact   *Contact
	Session   *Session
	Welcome   *schema.Welcome
	Left      int
	ID        uint64
}

// Effects lists what a Step wants done, in order. The driver empties it.
type Effects struct {
	List []Effect
	Send bool // there is something to send
}

// Reset empties the effects, and keeps their memory.
func (e *Effects) Reset() {
	clear(e.List)
	e.List, e.Send = e.List[:0], false
}

func (e *Effects) add(f Effect) { e.List = append(e.List, f) }

func (e *Effects) of(kind EffectKind, r *Request, err error) {
	e.add(Effect{Kind: kind, Request: r, Err: err})
}
