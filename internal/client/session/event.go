package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// EventKind says what an Event is.
type EventKind uint8

// The kinds of events. The fields that each has are named behind it.
const (
	// Tick says that time has passed.
	Tick EventKind = iota

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

	// Welcome says that a stream has opened Session, or has resumed it: by the answer, with Span as its ttl, to what was sent at Sent.
	// Phase is that of the heartbeats on its connection. Listed are the requests that the hello listed.
	Welcome
	// Broken says that the stream has ended, and Goodbye that the member has closed it in good order: after the end of the session was
	// sent that is its acknowledgement.
	Broken
	Goodbye
	// SessionLost says that the session is not known any more, by the word of its member.
	SessionLost
	// TakenOver says that another client has resumed the session, by the word Err.
	TakenOver
	// NoSession says that no session can be had, because of Err, as no patience will change.
	NoSession

	// The others are what the member says on the stream, of the operation ID.

	// Granted grants a request with Token, for Span from its first sending; 0 is no limit. Grace says that its name stays taken for a
	// while after that.
	Granted
	// Queued says that a request waits at Position; below 0 its member still looks for the authority.
	Queued
	// Refused refuses an operation, because of Err, which Verdict classifies.
	Refused
	// Released acknowledges a release or a cancel, or the end. Err says why it was refused, if it was.
	Released
	// Lost says that the authority has ended a lock, or a request, because of Why. MustRelease says that it waits for the holder to stop.
	Lost
	// LostBefore is a Lost that comes with a welcome: the lock ends before that renews the session.
	LostBefore
	// Extended acknowledges an extend, with Span from its sending; 0 is no limit.
	Extended
	// Beaten acknowledges a heartbeat, with Span as the ttl, which Cut says why it is shorter than was asked for.
	Beaten
)

// Verdict classifies why something was refused, as far as the Machine goes by it.
type Verdict uint8

// The verdicts.
const (
	Other   Verdict = iota
	Gone            // the session is not known any more
	TooMuch         // the client has asked for too much at once
	NotHeld         // what was to be released is not held
)

// Event is one input of a Machine.
type Event struct {
	Kind        EventKind
	Verdict     Verdict
	Awaited     bool
	Stopped     bool
	Grace       bool
	MustRelease bool
	Position    int
	ID          uint64
	Request     *Request
	Session     *Session
	Extension   *Extension
	Token       holdfast.Token
	Span        time.Duration
	Sent        time.Duration
	Phase       time.Duration
	Why         holdfast.Loss
	Cut         string
	Err         error
	Listed      []*Request
}
