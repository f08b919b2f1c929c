package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events, each with its fields.
const (
	// Tick reports that time has passed.
	Tick EventKind = iota
	// Begin starts the search for a member. It is the first event, and comes once.
	Begin

	// Lock is a call that requests the lock of Request.
	Lock
	// GiveUp reports that the call for Request has ended without waiting for its answer. If the lock was granted, it is
	// released.
	GiveUp
	// Unlock releases the lock of Request, which has ended for its holder. With Awaited a call waits for the answer.
	// With Stopped its hold limit had ended it, and its holder confirms during the grace that it has stopped; it was
	// granted with Token.
	Unlock
	// Unawait reports that no call waits any more for the answer to the release of Request.
	Unawait
	// Extend requests a new hold limit, Span, for the grant of Request, by the call Extension; 0 is none.
	Extend
	// Amend requests Value for the grant of Request, by the call Amending.
	Amend
	// Unheld reports that the lock of Request has ended, because of Err, before it could be ended or moved: its holder
	// has read the clock, or has just unlocked it.
	Unheld
	// Close ends all calls and locks, then the session.
	Close
	// Abandon reports that the end of the session will not be acknowledged, because of Err.
	Abandon

	// Opening reports that a stream to the address of Contact is being opened, which starts its time limit.
	Opening
	// Greet is the moment of sending the hello to Contact; [Contact.Hello] is then available.
	Greet
	// Answered reports that Contact has answered its hello with Said, the first frame of the stream, on a connection
	// whose heartbeats have Phase. It leads to Serve or Refuse.
	Answered
	// Failed reports that Contact has failed, because of Err: no connection, no answer, or a refusal.
	Failed
	// Heard has messages of the member on the stream.
	Heard
	// Broken reports that the stream has ended: because of Err, or without error if that is nil.
	Broken
)

// Event is one input of a Machine.
type Event struct {
	Kind      EventKind
	Awaited   bool
	Stopped   bool
	Request   *Request
	Extension *Extension
	Amending  *Amending
	Value     string
	Contact   *Contact
	Said      []*schema.Event
	Token     holdfast.Token
	Span      time.Duration
	Phase     time.Duration
	Err       error
}
