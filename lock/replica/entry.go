package replica

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Time is the table's own.
type Time = lock.Time

// Entry is what one entry of the log says.
type Entry struct {
	// At is the table's time, by the member that has written the entry.
	At Time
	// Begin says that a reign begins with it: another member writes from now on, or the reign before has
	// given all its tokens.
	Begin bool
	// Above is a reign above which the new one must be, as it is above the former one. Zero says nothing.
	Above uint64
	// Ops are done one after the other, behind what the time has ended.
	Ops []Op
}

// Kind is what an operation does.
type Kind uint8

// The kinds of operations.
const (
	// Open begins a session: Session, TTL, Secret, Client, Identity, Attached. Of one that there is it does what Attach does.
	Open Kind = iota + 1
	// End ends a session because its client wants it: what it holds is released. It does nothing where Attached is a client that the
	// session was taken over from.
	End
	// Expire ends a session whose client was not heard in time: what it holds is lost.
	Expire
	// Acquire asks for a name.
	Acquire
	// Release gives up one hold: that of Request or, where that is 0, the latest of Token's owner.
	Release
	// Cancel ends a request, whether it waits, holds or has not come yet. With GivenUp it was not its client that wished so, and then
	// nothing happens to a request that holds or waits and was asked for through another member, too.
	Cancel
	// Extend replaces a grant's hold limit.
	Extend
	// Break takes a name from its holders: those of Token, or all where that is 0.
	Break
	// LetIn lets what Owner of session Other has parked through the gate, past the suspension that is Request of Session:
	// see lock.Table.LetIn.
	LetIn
	// EndIdle ends a session that neither holds nor waits for anything. To any other it does nothing.
	EndIdle
	// Recall ends a request, as a Release names it, for another client of its session than the one that uses it: the holder of
	// a hold that was asked for over a stream is notified to stop, and anything else ends.
	Recall
	// Attach says which client uses a session over a stream. Where that is a later one than is known, it has taken the session
	// over.
	Attach
)

var kindNames = [...]string{Open: "open", End: "end", Expire: "expire", Acquire: "acquire", Release: "release", Cancel: "cancel", Extend: "extend", Break: "break", LetIn: "let in", EndIdle: "end idle", Recall: "recall", Attach: "attach"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "none"
}

// Op is one operation. What its kind does not name is not looked at, nor written down.
type Op struct {
	// ID is the operation's own. The second of two that share it does nothing and has no effects. The zero OpID is shared
	// with no other operation.
	ID      OpID
	Kind    Kind
	Session lock.SessionID
	Request uint64
	Name    string
	Token   holdfast.Token

	Other lock.SessionID // LetIn

	// Acquire; LetIn: Owner, Age, Wait, Hold; Extend: Hold.
	holdfast.Attributes
	Try    bool
	Age    time.Duration // for how long it had waited at the entry's time
	Wait   time.Duration // how much longer it may; lock.Never means not by itself
	Belief time.Duration
	// Once is what its client calls what it wants, whichever requests it sends for it: those of one session for one name that
	// share it are one. Content is a sum of what is wanted, by which another intent of that name is found out. "" is none.
	Once     string
	Content  uint64
	Client   string // Open too
	Identity string // Open: who its client is, as the edge has found out
	TTL      time.Duration
	Secret   Secret
	GivenUp  bool // Cancel
	// By is the client that asks over a stream, in Acquire; zero where it has no number, and of a request that comes otherwise. One
	// that another client has taken the session over from is refused; a later one than is known has taken it over.
	By lock.Attachment
	// Attached is the client that uses the session over a stream, in Attach, Open and End; nil where none has a number, and
	// of an End that comes otherwise. It is not changed.
	Attached *lock.Attachments
}

// Attached is a copy of a for an operation; nil where no client has a number.
func Attached(a lock.Attachments) *lock.Attachments {
	if a.Client == 0 {
		return nil
	}
	return &a
}

// OpID names an operation for ever: the member that has sent it, and a number that this member never
// uses again.
type OpID struct{ Member, Number uint64 }

// Secret is the SHA-256 of what proves that a client's session is its own: who reads the log, or a copy of
// the state, cannot say that it is that client.
type Secret [32]byte

// request makes of an Acquire what the table takes.
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
