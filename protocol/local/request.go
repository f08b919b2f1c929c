package local

import (
	"cmp"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Request is a request of one of this member's clients, from when the table queues it until nothing of it is left here.
// A protocol embeds it in its own record.
type Request struct {
	Key     Key
	Arrival uint64 // counts those of this member
	// Attributes.Owner is its client if it named none.
	holdfast.Attributes
	Client string        // for people
	Try    bool          // it waits for what peers say, and not for those who hold
	Belief time.Duration // how long its client may believe unheard; see lock.Request

	// By is the holder before it, as reported by a peer; the protocol sets it.
	By *lock.HeldBy

	Held       bool // with Token, since Since; else it waits
	Token      holdfast.Token
	Since      protocol.Time
	Waits      bool          // it is known to have to wait: [Clients.LetWait]
	notified   bool          // so has been its client
	Lost       holdfast.Loss // why it has ended, if it was held and lost
	Dropped    bool          // it has ended: code that still has it lets go of it
	amendments []amendment   // that wait for others to have them
	release    Key           // of what is withheld: a client may release by another of its owner's requests
}

// Key identifies a request permanently.
type Key struct {
	Session lock.SessionID
	ID      uint64
	Name    string
}

// Own is a protocol's record of a request: a pointer to a type that embeds a Request.
type Own interface {
	comparable
	Requested() *Request
}

// Requested returns the request itself, for [Own].
func (r *Request) Requested() *Request { return r }

// HeldBy returns the HeldBy of a request that others wait for.
func (r *Request) HeldBy(now protocol.Time) *lock.HeldBy {
	by := &lock.HeldBy{Owner: r.Owner, Holder: r.Key.Session, Suspended: r.Key.Name == lock.SpaceLock}
	if r.Held {
		by.Age = now - r.Since
	}
	return by
}

// keyOf returns the key of a client's request.
func keyOf(q *lock.Request) Key { return Key{q.Session, q.ID, q.Name} }

// newRequest returns the Request of a client's request.
func newRequest(q *lock.Request, arrival uint64) Request {
	r := Request{Key: keyOf(q), Arrival: arrival, Attributes: q.Attributes, Client: q.Client, Try: q.Try, Belief: q.Belief}
	r.Owner = cmp.Or(r.Owner, r.Client)
	return r
}
