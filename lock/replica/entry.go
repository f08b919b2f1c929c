package replica

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Time is a time of the table.
type Time = lock.Time

// Entry is an entry of the log.
type Entry struct {
	// At is the table's time, by the member that wrote the entry.
	At Time
	// Begin means that a reign begins with the entry: another member writes from now on, or the previous reign has
	// given all its tokens.
	Begin bool
	// Above is a lower bound for the new reign, in addition to the previous one. Zero means none.
	Above uint64
	// Ops are done in order, after the ends that the time causes.
	Ops []Op
}

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operations.
const (
	// Open opens a session: Session, TTL, Secret, Client, Identity, Attached. For an existing one it acts as Attach.
	Open Kind = iota + 1
	// End ends a session at its client's request: its holds are released. It does nothing if Attached is a client that
	// the session was taken over from.
	End
	// Expire ends a session whose client was not heard in time: its holds are lost.
	Expire
	// Acquire requests a name.
	Acquire
	// Release releases one hold: that of Request or, if that is 0, the latest of Token's owner.
	Release
	// Cancel ends a request, whether it waits, holds or has not arrived yet. With GivenUp its client did not request
	// that, and then a request that holds or waits is unaffected if it was also made through another member.
	Cancel
	// Extend replaces a grant's hold limit.
	Extend
	// Break takes a name from its holders: those of Token, or all if that is 0.
	Break
	// LetIn lets the parked requests of Owner of session Other through the gate, past the suspension that is Request of
	// Session: see lock.Table.LetIn.
	LetIn
	// EndIdle ends a session that neither holds nor waits for anything. It has no effect on any other.
	EndIdle
	// Recall ends a request, identified as in a Release, for another client of its session than the one that uses it:
	// the holder of a hold that was requested over a stream is notified to stop, and anything else ends.
	Recall
	// Attach declares which client uses a session over a stream. If it is later than the known one, it has taken the
	// session over.
	Attach
	// Amend amends the grant that Request holds: Value, Revision.
	Amend
)

var kindNames = [...]string{Open: "open", End: "end", Expire: "expire", Acquire: "acquire", Release: "release", Cancel: "cancel", Extend: "extend", Break: "break", LetIn: "let in", EndIdle: "end idle", Recall: "recall", Attach: "attach", Amend: "amend"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "none"
}

// Op is one operation. Fields that its kind does not name are neither read nor written.
type Op struct {
	// ID identifies the operation. The second of two with the same ID does nothing and has no effects. The zero OpID never
	// counts as the same.
	ID      OpID
	Kind    Kind
	Session lock.SessionID
	Request uint64
	Name    string
	Token   holdfast.Token

	Other lock.SessionID // LetIn

	// Acquire; LetIn: Owner, Age, Wait, Hold; Extend: Hold; Amend: Value, Revision.
	holdfast.Attributes
	Try    bool
	Age    time.Duration // for how long it had waited at the entry's time
	Wait   time.Duration // how much longer it may; lock.Never means not by itself
	Belief time.Duration
	// Once is the client's idempotency key, the same in all requests that it sends for one intent: those of one session
	// for one name that share it are one. Content is a checksum of the request, which detects another intent for that
	// name. "" is none.
	Once     string
	Content  uint64
	Client   string // Open too
	Identity string // Open: its client's identity, as determined by the edge
	TTL      time.Duration
	Secret   Secret
	GivenUp  bool // Cancel
	// By is the client that makes the request over a stream, in Acquire; zero if it has no number, or if the request
	// came otherwise. A client that another one has taken the session over from is refused; a later one than the known
	// one has taken it over.
	By lock.Attachment
	// Attached is the client that uses the session over a stream, in Attach, Open and End; nil if none has a number, or
	// if an End came otherwise. It must not be changed.
	Attached *lock.Attachments
	// Tied, in Attach and Open, ties the session to the member that has sent the operation, unless it is tied already.
	Tied bool
}

// Attached returns a copy of a for an operation; nil if no client has a number.
func Attached(a lock.Attachments) *lock.Attachments {
	if a.Client == 0 {
		return nil
	}
	return &a
}

// OpID identifies an operation permanently: the member that has sent it, and a number that this member never reuses.
type OpID struct{ Member, Number uint64 }

// Secret is the SHA-256 of the secret that proves ownership of a client's session: a reader of the log, or of a copy of
// the state, cannot pose as that client.
type Secret [32]byte

// request returns the table's request for an Acquire.
func (o *Op) request(now Time) lock.Request {
	r := lock.Request{
		Session: o.Session, ID: o.Request, Name: o.Name, Attributes: o.Attributes, Client: o.Client,
		Try:     o.Try,
		Arrived: now - o.Age, WaitEnd: lock.Never, Belief: o.Belief,
	}
	if o.Wait != lock.Never {
		r.WaitEnd = lock.After(now, o.Wait)
	}
	return r
}
