package protocol

import (
	"github.com/holdfast-locks/holdfast/lock"
)

// Machine is a protocol, or several composed.
//
// Its inputs and outputs change hands. The argument of a Call is its caller's: it uses that
// memory again as soon as Step returns. A machine does not change what it has sent or
// answered, and it does not change what it receives: others read that while the machine
// goes on, on other goroutines or much later.
type Machine interface {
	// Step takes one event and appends what to do about it.
	Step(now Time, ev Event, out *Effects)
	// Wake returns when to Step a Tick if nothing comes first, or Never. It changes with
	// Step only.
	Wake() Time
}

// Time is how long this member has run, by its own clock.
type Time = lock.Time

// Never is the Time that does not come.
const Never = lock.Never

// FormatTime renders a Time for people; Never as "never".
func FormatTime(t Time) string {
	if t == Never {
		return "never"
	}
	return t.String()
}

// ID names a member for ever: random, drawn at its first start, kept in its
// stable cell.
type ID uint64

// Peers that are no members.
const (
	// Storage keeps the member's stable cell, and later its log: a machine sends to it
	// and receives from it as from any other member.
	Storage ID = 0
	// AnyMember is the ID of the member at an address, for a sender that does not know
	// that member's ID yet.
	AnyMember ID = 1<<64 - 1
	// Rumour brings hints, and receives nothing. See Hint.
	Rumour ID = 1<<64 - 2
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events.
const (
	// Start is the first event of every machine.
	Start Kind = iota + 1
	// Tick says that time has passed.
	Tick
	// Receive brings a message from another member, or from Storage.
	Receive
	// Call brings a request of this member's own users; the field Call says where to
	// send the answer.
	Call
	// Raised brings what the machine below has raised: a View, a Horizon.
	Raised
)

// Event is one input of a machine.
type Event struct {
	Kind Kind
	Port Port   // which machine of a Stack it is for; Raised to the lower one: the machine that raised it
	From ID     // Receive: the sender, as the transport knows for certain
	Call CallID // Call: where to send the answer
	Fact any    // Receive: the message; Call: the argument; Raised: what was raised
}

// Port addresses a machine within a Stack: Below, or the index of a space
// counted from 1.
type Port uint16

// Below is the Port of a stack's lower machine, the membership.
const Below Port = 0

// CallID says where to send an answer: to a sink of the driver, and the operation
// there. Op 0 is no operation: the message to that sink answers nothing.
type CallID struct {
	Sink uint64
	Op   uint64
}

// Message is what members send to one another: plain structs, listed in each
// protocol's messages.go. Each carries the view's epoch, the sender's incarnation
// and the id of its request where the protocol needs them to tell old from new.
type Message interface {
	String() string // short, for traces
}

// Carrier is a message that carries another one, its body (wire.Body).
type Carrier interface {
	Message
	Carried() any
}

// Effects is what a Step wants done. The driver empties it after every Step.
type Effects struct {
	Sends   []Envelope
	Replies []Reply
	Raises  []any
	Notes   []Note
}

// Envelope is a message on its way to the machine at Port of another member.
type Envelope struct {
	To      ID
	Address string // the address, where To is AnyMember
	Port    Port
	Message Message
}

// Reply answers a Call, or (Op 0) reports to a sink without one. Decision is set
// for what becomes of a lock; every other answer is in Result.
type Reply struct {
	To       CallID
	Port     Port // the space that answers; set by the Stack
	Decision lock.Decision
	Result   any
}

// Note is a typed value for the trace and the log, rendered only if someone reads it.
type Note interface {
	String() string
}

// Severity is how much a note concerns operators.
type Severity uint8

// The severities.
const (
	Info Severity = iota
	Warn
	Error
)

// Logged is a note that a member logs, for operators.
type Logged interface {
	Note
	// Log returns a sentence, and pairs of a key and a value. Called gives the name of a member.
	Log(called func(ID) string) (severity Severity, sentence string, pairs []any)
}

// Fault is a note that a space grants nothing before it is configured otherwise.
type Fault interface {
	Note
	// Fault returns the group of locks that the space has in its store, and why.
	Fault() (group string, err error)
}

// Send sends m to another member, or to Storage. It may be lost, delayed,
// duplicated and reordered: nothing more is promised.
func (e *Effects) Send(to ID, m Message) {
	e.Sends = append(e.Sends, Envelope{To: to, Message: m})
}

// SendTo sends m to the member at an address. Nothing more is promised than by Send.
func (e *Effects) SendTo(address string, m Message) {
	e.Sends = append(e.Sends, Envelope{To: AnyMember, Address: address, Message: m})
}

// Decide answers a call with what became of a lock.
func (e *Effects) Decide(to CallID, d *lock.Decision) {
	n := len(e.Replies)
	if n == cap(e.Replies) {
		e.Replies = append(e.Replies, Reply{})
	} else {
		e.Replies = e.Replies[:n+1] // all of it is set, regardless of what an earlier batch has left there
	}
	reply := &e.Replies[n]
	reply.To, reply.Port, reply.Result = to, Below, nil
	reply.Decision = *d
}

// Reply answers a call with any other result.
func (e *Effects) Reply(to CallID, result any) {
	e.Replies = append(e.Replies, Reply{To: to, Result: result})
}

// Raise reports to the machines above, or to the driver where there are none.
func (e *Effects) Raise(fact any) { e.Raises = append(e.Raises, fact) }

// Note records n for the readers of the trace.
func (e *Effects) Note(n Note) { e.Notes = append(e.Notes, n) }

// Reset empties the effects and keeps their memory.
func (e *Effects) Reset() {
	e.Drain()
	clear(e.Replies)
	e.Replies = e.Replies[:0]
}

// Drain empties the effects but for the replies, for a driver that hands those out
// once a batch.
func (e *Effects) Drain() {
	if len(e.Sends)+len(e.Raises)+len(e.Notes) == 0 {
		return
	}
	clear(e.Sends)
	clear(e.Raises)
	clear(e.Notes)
	e.Sends, e.Raises, e.Notes = e.Sends[:0], e.Raises[:0], e.Notes[:0]
}

// Forwards is a machine whose member may have no part in the space: then it forwards its clients to members that have one.
type Forwards interface {
	Machine
	// Nonmember reports whether that is so.
	Nonmember() bool
}

// Assures is a machine that assures what it has granted for a time of its own, in the place of the member's lease.
type Assures interface {
	Machine
	// Assured returns until when all that is held through this member is safe.
	Assured() Time
}

// Peer is a machine of a protocol in which no member is in charge (Descriptor.Peers).
type Peer interface {
	Machine
	// Own says how the space is at this member, with what its own clients have.
	Own(now Time) *Condition
}
