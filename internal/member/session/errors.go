package session

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// unknown is an ended session, or a wrong secret: the two are not distinguished. Its holder has lost its locks.
type unknown struct{}

func (unknown) Error() string { return "unknown session" }

func (unknown) Unwrap() error { return holdfast.SessionExpired }

// ErrUnknown reports that the session does not exist (any more), or that the secret is wrong. It is a holdfast.ErrLost.
var ErrUnknown error = unknown{}

// ErrForeign reports that a session, whose secret the caller has, belongs to another identity. It is a
// holdfast.ErrDenied.
var ErrForeign = fmt.Errorf("%w: another client has opened this session, and no one else may use it", holdfast.ErrDenied)

// takenOver is a session that a later client uses.
type takenOver struct{}

func (takenOver) Error() string { return "taken over by another client" }

func (takenOver) Unwrap() error { return holdfast.EndedByAnother }

// ErrTakenOver reports that a later client has taken the session over. It is a holdfast.EndedByAnother, and so a
// holdfast.ErrLost.
var ErrTakenOver error = takenOver{}

// errForgetful refuses a session whose promise the member could not remember: after a restart it would grant locks that
// the session's client still believes in.
var errForgetful = fmt.Errorf("%w: the member cannot write its stable cell, so it promises nothing", holdfast.ErrUnavailable)

// unsure is the answer about a session if a lasting space cannot tell whether it lives: with the reason, and how long
// that lasts.
func unsure(err error) error {
	why, left := lock.WhyUnavailable(err)
	if why == "" {
		why = "no member that knows has answered"
	}
	return &lock.Unavailable{Why: "whether the session lives is not known: " + why, Left: left}
}

// Reasons why this member cannot promise anything to a client, though another one may.
var (
	errJoining  = fmt.Errorf("%w: this member is in no view yet; another may serve", holdfast.ErrUnavailable)
	errNoLease  = fmt.Errorf("%w: this member's lease has run out; another may serve", holdfast.ErrUnavailable)
	errLeaving  = fmt.Errorf("%w: this member is leaving; another may serve", holdfast.ErrUnavailable)
	errDraining = fmt.Errorf("%w: this member is being drained; another may serve", holdfast.ErrUnavailable)
	errBeats    = fmt.Errorf("%w: too many renewals wait until a space keeps their sessions; try again", holdfast.ErrUnavailable)
	errFull     = fmt.Errorf("%w: this member has too many sessions to take over another; another may serve", holdfast.ErrUnavailable)
	errUntied   = fmt.Errorf("%w: no member has confirmed yet that the durable spaces know of the session's first request in a space that is not durable", holdfast.ErrUnavailable)
	errExcess   = fmt.Errorf("%w: the session has lost more locks than this member remembers", holdfast.ErrLost)
)

// refuseUnknown reports that a session has ended. If it was dismissed, it has not, and its client repeats the request
// elsewhere.
func (m *Machine) refuseUnknown(call protocol.CallID, s lock.SessionID, request uint64, name string, out *protocol.Effects) {
	if !m.isSuperseded(call.Sink) {
		m.refuse(call, s, request, name, ErrUnknown, out)
	}
}

// refuse refuses a request. It is kept out of line: what it builds is large, and it is rare.
//
//go:noinline
func (m *Machine) refuse(call protocol.CallID, s lock.SessionID, request uint64, name string, err error, out *protocol.Effects) {
	out.Decide(call, &lock.Decision{Kind: lock.Refused, Session: s, Request: request, Name: name, Err: err})
}
