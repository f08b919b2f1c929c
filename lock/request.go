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

// Never is the Time that does not come.
const Never Time = math.MaxInt64

// SessionID names a client's session for ever: the member that opened it and a
// number that this member never uses again. The zero SessionID is no session.
type SessionID struct {
	Member uint64
	Number uint64
}

// String returns the public form, which is no secret: both halves in base 36.
func (s SessionID) String() string {
	return strconv.FormatUint(s.Member, 36) + "-" + strconv.FormatUint(s.Number, 36)
}

// ParseSessionID reads what String writes and reports whether it was well formed.
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

// Request asks for a name. (Session, ID) names the request for ever: the same
// one arriving again is the same request, and acts once (P6).
//
// WaitEnd bounds all waiting. With Try that is the wait for an authority alone: a
// WaitEnd of Never then waits for ever where no authority comes, and one that is not
// later than now waits for nothing.
type Request struct {
	Session SessionID
	ID      uint64 // chosen by the client, unique within the session, never 0
	Name    string
	holdfast.Attributes
	Client  string // for people: who asks, e.g. "deploy@web-1 pid 4711"
	Try     bool   // never wait for holders, only for an authority, until WaitEnd; see Acquire
	Arrived Time   // when it reached the authority; anchors Hold's answer
	WaitEnd Time   // when to give up waiting; Never means not by itself, with Try too
	// Belief is how long, by the member's clock, the client may go on believing in what it holds
	// after it was last heard. The member that the session is at sets it; 0 for its own process,
	// whose users compare with the member's clock.
	Belief time.Duration
	// Once is the client's idempotency key, the same at all members that it asks: requests of one session for one name that
	// share it are one. Content is a checksum of the request, by which another request under that key is found out. Where a session is
	// served by one member alone, that member compares, and protocols do not look at it. "" is none.
	Once    string
	Content uint64
}

// Decision describes the request, with kind as what became of it. The rest is the caller's.
func (r *Request) Decision(kind Kind) Decision {
	return Decision{
		Kind: kind, Session: r.Session, Request: r.ID, Name: r.Name, Owner: r.Owner, Client: r.Client, Reason: r.Reason, Shape: r.Shape,
	}
}

// Kind says what a Decision decides.
type Kind uint8

// The kinds. The zero Kind decides nothing.
const (
	// Granted: the request holds the name under Token. Reentry is a Granted with
	// the token of the grant that it enters; a repeated request is a Granted again.
	Granted Kind = iota + 1
	// Queued: the request waits, with Position requests before it.
	Queued
	// Refused: the request is gone; Err says why (held, conflict, limit, …).
	Refused
	// Lost: the grant has ended without a release; Loss says why. It is reported after
	// the holder's own clock has ended it, so it needs no acknowledgement.
	Lost
	// Revoked: the grant shall end because of Loss; the holder must say that it has
	// stopped by releasing it, and until then (or until its session's present
	// deadline, whichever is first) the name stays taken.
	Revoked
	// Released: the hold that the request had, or its place in the queue, is gone,
	// because its session asked for it.
	Released
)

var kindNames = [...]string{"none", "granted", "queued", "refused", "lost", "revoked", "released"}

// String returns the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// Decision is what became of one request. It goes to the session that asked.
type Decision struct {
	Kind    Kind
	Session SessionID
	Request uint64
	Name    string
	Owner   string
	Client  string // who asked, for people
	Reason  string // why, for people
	holdfast.Shape
	Token    holdfast.Token
	Since    Time          // Granted, Released, Lost, Revoked: when it was granted, on the authority's clock; 0 if it never was
	Waited   time.Duration // Granted, Refused: how long the request had waited, on the authority's clock
	Hold     time.Duration // Granted: the hold limit, counted from when the request was sent; 0 means none
	Position int           // Queued: how many wait before it
	Loss     holdfast.Loss // Lost, Revoked
	Err      error         // Refused
}

// WaitGrace is how long a member waits, beyond a request's wait limit, for the authority's
// own word, which says who holds the name. A wait limit is kept to within half a second,
// regardless of which member is silent, and the rest of that is for those between the
// member and the caller.
const WaitGrace = 200 * time.Millisecond
