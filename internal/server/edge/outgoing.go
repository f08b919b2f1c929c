package edge

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// saying is the kind of an event for a client.
type saying uint8

const (
	sayWelcome saying = iota + 1
	sayGranted
	sayQueued
	sayRefused
	sayReleased
	sayLost
	sayExtended
	sayAmended
	sayBeat
	sayMoved
)

// Outgoing is one compact event for the client: it becomes a message only when it is sent.
type Outgoing struct {
	saying      saying
	call        Call // the call it answers, if any
	mustRelease bool
	port        protocol.Port
	position    int32
	id          uint64
	token       holdfast.Token
	revision    uint64
	since       lock.Time
	span        time.Duration // hold limit or ttl
	wanted      time.Duration // that ttl as requested by the client
	cut         session.Cut   // why it is shorter
	why         holdfast.Loss
	name        string // of a refusal: the lock's name
	err         error
	roster      *Roster   // of a welcome, and when it has changed
	welcomed    *welcomed // of a welcome
}

// welcomed has the fields that only a welcome needs.
type welcomed struct {
	session    lock.SessionID
	secret     string // of a new session
	generation uint64
	longer     bool
}

// size estimates the memory of t.
func (t *Outgoing) size() int {
	n := 144 + len(t.name)
	if t.err != nil {
		n += 512
	}
	return n
}

// Outcome returns the outcome of a call at a port, for metrics: done, or refused because of an error; neither if t has
// none.
func (t *Outgoing) Outcome() (port protocol.Port, call Call, done bool, refused error) {
	switch t.saying {
	case sayGranted, sayExtended, sayAmended, sayBeat, sayWelcome:
		done = true
	case sayReleased:
		done = t.call != CallRequest
	}
	return t.port, t.call, done && t.err == nil, t.err
}

// Cut returns why the ttl given in t is shorter than requested, if it is.
func (t *Outgoing) Cut() (cut session.Cut, wanted, given time.Duration) {
	return t.cut, t.wanted, t.span
}

func lostGrant(port protocol.Port, d *lock.Decision) Outgoing {
	return Outgoing{saying: sayLost, id: d.Request, port: port, why: d.Loss, mustRelease: d.Kind == lock.Revoked}
}
