package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// EventKind says what an Event is.
type EventKind uint8

// The kinds of events. The fields that each has are named behind it.
const (
	// Tick says that time has passed.
	Tick EventKind = iota
	// Begin begins the search for a member. It comes first, and once.
	Begin

	// Lock is a call that wants the lock of Request.
	Lock
	// GiveUp says that the call for Request has ended without waiting for its answer. A lock that it was granted is released.
	GiveUp
	// Unlock gives the lock of Request back, which has ended for its holder. Awaited says that a call waits for the answer. Stopped says
	// that its hold limit had ended it, in whose grace its holder says that it has stopped; it was granted with Token.
	Unlock
	// Unawait says that no call waits any more for the answer to the release of Request.
	Unawait
	// Extend wants another hold limit, Span, for the grant of Request, by the call Extension; 0 is none.
	Extend
	// Unheld says that the lock of Request has ended, because of Err, before it could be ended or moved: its holder has looked at the clock,
	// or has just unlocked it.
	Unheld
	// Close ends all calls and locks, then the session.
	Close
	// Abandon says that the end of the session will not be acknowledged, because of Err.
	Abandon

	// Opening says that a stream is being opened at the place of Contact, which gets its limit by that.
	Opening
	// Greet is the moment at which the hello to Contact is sent, which [Contact.Hello] then is.
	Greet
	// Answered says that Contact has answered its hello with Said, the first frame of the stream, on a connection whose heartbeats have
	// Phase. Serve or Refuse comes of it.
	Answered
	// Failed says that Contact has come to nothing, because of Err: there is no connection, no answer, or a refusal.
	Failed
	// Heard has what the member has said on the stream.
	Heard
	// Broken says that the stream has ended: because of Err, or in good order where that is nil.
	Broken
)

// Event is one input of a Machine.
type Event struct {
	Kind      EventKind
	Awaited   bool
	Stopped   bool
	Request   *Request
	Extension *Extension
	Contact   *Contact
	Said      []*schema.Event
	Token     holdfast.Token
	Span      time.Duration
	Phase     time.Duration
	Err       error
}
