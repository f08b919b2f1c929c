package lock

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Time is how long this member has run, by its own clock.
type Time = time.Duration

// Never is a Time that never comes.
const Never Time = math.MaxInt64

// SessionID identifies a client's session permanently: the member that opened it and a number that this member never
// reuses. The zero SessionID is no session.
type SessionID struct {
	Member uint64
	Number uint64
}

// String returns the public form, which is not secret: both halves in base 36.
func (s SessionID) String() string {
	return strconv.FormatUint(s.Member, 36) + "-" + strconv.FormatUint(s.Number, 36)
}

// ParseSessionID parses a result of String and reports whether it is well-formed.
func ParseSessionID(text string) (SessionID, bool) {
	member, number, ok := strings.Cut(text, "-")
	if !ok {
		return SessionID{}, false
	}
	m, err1 := strconv.ParseUint(member, 36, 64)
	n, err2 := strconv.ParseUint(number, 36, 64)
	id := SessionID{Member: m, Number: n}
	return id, err1 == nil && err2 == nil && id.String() == text
}

// Request is a request for a name. (Session, ID) identifies it permanently: a second arrival is the same request, and
// acts once (P6).
//
// WaitEnd limits all waiting. With Try that is only the wait for an authority: a WaitEnd of Never then waits forever if
// no authority comes, and one that is not later than now waits for nothing.
type Request struct {
	Session SessionID
	ID      uint64 // chosen by the client, unique within the session, never 0
	Name    string
	holdfast.Attributes
	Client  string // for display: the requesting client, e.g. "deploy@web-1 pid 4711"
	Try     bool   // never wait for holders, only for an authority, until WaitEnd; see Acquire
	Arrived Time   // when it reached the authority; start of Hold in the answer
	WaitEnd Time   // when to stop waiting; Never means no limit, with Try too
	// Belief is how long, by the member's clock, the client may continue to believe in its holds after it was last
	// heard. The session's member sets it; 0 for its own process, whose users compare with the member's clock.
	Belief time.Duration
	// Once is the client's idempotency key, the same at all members that it asks: requests of one session for one name
	// that share it are one. Content is a checksum of the request, which detects a different request under the same
	// key. If only one member serves a session, that member compares, and protocols ignore the key. "" is none.
	Once    string
	Content uint64
}

// Decision returns a Decision of a kind about the request. The caller fills in the rest.
func (r *Request) Decision(kind Kind) Decision {
	return Decision{
		Kind: kind, Session: r.Session, Request: r.ID, Name: r.Name, Owner: r.Owner, Client: r.Client, Reason: r.Reason, Shape: r.Shape,
		Value: r.Value, Revision: r.Revision,
	}
}

// Kind is the kind of a Decision.
type Kind uint8

// The kinds. The zero Kind decides nothing.
const (
	// Granted: the request holds the name under Token. A reentry is a Granted with the token of the existing grant; a
	// repeated request is Granted again.
	Granted Kind = iota + 1
	// Queued: the request waits, with Position requests before it.
	Queued
	// Refused: the request has ended; Err is the reason (held, conflict, limit, …).
	Refused
	// Lost: the grant has ended without a release; Loss is the reason. It is reported after the holder's own clock has
	// ended the grant, so it needs no acknowledgement.
	Lost
	// Revoked: the grant must end because of Loss; the holder confirms by releasing it that it has stopped. Until then,
	// or until its session's present deadline if that is earlier, the name stays taken.
	Revoked
	// Released: the request's hold, or its place in the queue, is gone at its session's request.
	Released
	// Amended: the grant has Value, under Revision. It answers an amendment.
	Amended
)

var kindNames = [...]string{"none", "granted", "queued", "refused", "lost", "revoked", "released", "amended"}

// String returns the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// Decision is the outcome of one request. It goes to the requesting session.
type Decision struct {
	Kind    Kind
	Session SessionID
	Request uint64
	Name    string
	Owner   string
	Client  string // the requesting client, for display
	Reason  string // the reason of the request, for display
	holdfast.Shape
	Token holdfast.Token
	// Since is when it was granted, on the authority's clock, of a Granted, Released, Lost, Revoked or Amended decision. It
	// is 0 if it never was, and in the answer to an amendment that has changed nothing.
	Since    Time
	Waited   time.Duration // Granted, Refused: how long the request had waited, on the authority's clock
	Hold     time.Duration // Granted: the hold limit, counted from when the request was sent; 0 means none
	Position int           // Queued: number of requests before it
	Value    string        // Granted, Amended: the value of the grant
	Revision uint64        // and its revision
	Loss     holdfast.Loss // Lost, Revoked
	Err      error         // Refused
}

// WaitGrace is how long a member waits, beyond a request's wait limit, for the authority's answer, which names the
// holder. A wait limit is kept to within half a second, no matter which member is silent, and the rest of that is for
// the way from the member to the caller.
const WaitGrace = 200 * time.Millisecond
