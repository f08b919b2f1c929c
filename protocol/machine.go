package protocol

import (
	"github.com/holdfast-locks/holdfast/lock"
)

// Machine is a protocol, or several composed.
//
// Inputs and outputs change owners. The argument of a Call belongs to its caller, which reuses that memory as soon as
// Step returns. A machine must not change what it has sent, answered or received: other goroutines read it while the
// machine continues, or much later.
type Machine interface {
	// Step processes one event and appends its effects.
	Step(now Time, ev Event, out *Effects)
	// Wake returns when to Step a Tick if nothing comes first, or Never. Only Step changes it.
	Wake() Time
}

// Time is how long this member has run, by its own clock.
type Time = lock.Time

// Never is a Time that never comes.
const Never = lock.Never

// FormatTime formats a Time for display; Never as "never".
func FormatTime(t Time) string {
	if t == Never {
		return "never"
	}
	return t.String()
}

// ID identifies a member permanently: it is random, drawn at the first start, and kept in the member's stable cell.
type ID uint64

// Peers that are not members.
const (
	// Storage keeps the member's stable cell, and later its log: a machine exchanges messages with it as with any other
	// member.
	Storage ID = 0
	// AnyMember is the ID of the member at an address, for a sender that does not know that member's ID yet.
	AnyMember ID = 1<<64 - 1
	// Rumour sends hints, and receives nothing. See Hint.
	Rumour ID = 1<<64 - 2
)

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	// Start is the first event of every machine.
	Start Kind = iota + 1
	// Tick reports that time has passed.
	Tick
	// Receive carries a message from another member, or from Storage.
	Receive
	// Call carries a request of this member's own users; the field Call is the destination of the answer.
	Call
	// Raised carries a fact that the machine below has raised: a View, a Horizon.
	Raised
)

// Event is one input of a machine.
type Event struct {
	Kind Kind
	Port Port   // the Stack's machine that receives it; Raised to the lower one: the machine that raised it
	From ID     // Receive: the sender, authenticated by the transport
	Call CallID // Call: the destination of the answer
	Fact any    // Receive: the message; Call: the argument; Raised: the raised fact
}

// Port addresses a machine within a Stack: Below, or the index of a space counted from 1.
type Port uint16

// Below is the Port of a stack's lower machine, the membership.
const Below Port = 0

// CallID is the destination of an answer: a sink of the driver, and the operation there. Op 0 is no operation: the
// message to that sink answers nothing.
type CallID struct {
	Sink uint64
	Op   uint64
}

// Message is a message between members: plain structs, listed in each protocol's messages.go. Each carries the view's
// epoch, the sender's incarnation and the id of its request if the protocol needs them to distinguish old from new.
type Message interface {
	String() string // short, for traces
}

// Carrier is a message that carries another one, its body (wire.Body).
type Carrier interface {
	Message
	Carried() any
}

// Effects are the outputs of a Step. The driver empties them after every Step.
type Effects struct {
	Sends   []Envelope
	Replies []Reply
	Raises  []any
	Notes   []Note
}

// Envelope is a message on its way to the machine at Port of another member.
type Envelope struct {
	To      ID
	Address string // the address, if To is AnyMember
	Port    Port
	Message Message
}

// Reply answers a Call, or (Op 0) reports to a sink without one. Decision is set for the outcome of a lock request;
// every other answer is in Result.
type Reply struct {
	To       CallID
	Port     Port // the space that answers; set by the Stack
	Decision lock.Decision
	Result   any
}

// Note is a typed value for the trace and the log, rendered only on demand.
type Note interface {
	String() string
}

// Severity is the importance of a note for operators.
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
	// Log returns a sentence, and pairs of a key and a value. called returns the name of a member.
	Log(called func(ID) string) (severity Severity, sentence string, pairs []any)
}

// Fault is a note that a space grants nothing until its configuration changes.
type Fault interface {
	Note
	// Fault returns the space's lock group in its store, and the reason.
	Fault() (group string, err error)
}

// Send sends m to another member, or to Storage. It may be lost, delayed, duplicated and reordered.
func (e *Effects) Send(to ID, m Message) {
	e.Sends = append(e.Sends, Envelope{To: to, Message: m})
}

// SendTo sends m to the member at an address, without further guarantees, like Send.
func (e *Effects) SendTo(address string, m Message) {
	e.Sends = append(e.Sends, Envelope{To: AnyMember, Address: address, Message: m})
}

// Decide answers a call with the outcome of a lock request.
func (e *Effects) Decide(to CallID, d *lock.Decision) {
	n := len(e.Replies)
	if n == cap(e.Replies) {
		e.Replies = append(e.Replies, Reply{})
	} else {
		e.Replies = e.Replies[:n+1] // all fields are set, regardless of an earlier batch's contents
	}
	reply := &e.Replies[n]
	reply.To, reply.Port, reply.Result = to, Below, nil
	reply.Decision = *d
}

// Reply answers a call with any other result.
func (e *Effects) Reply(to CallID, result any) {
	e.Replies = append(e.Replies, Reply{To: to, Result: result})
}

// Raise reports to the machines above, or to the driver if there are none.
func (e *Effects) Raise(fact any) { e.Raises = append(e.Raises, fact) }

// Note records n for the readers of the trace.
func (e *Effects) Note(n Note) { e.Notes = append(e.Notes, n) }

// Reset empties the effects and keeps their memory.
func (e *Effects) Reset() {
	e.Drain()
	clear(e.Replies)
	e.Replies = e.Replies[:0]
}

// Drain empties the effects except the replies, for a driver that delivers replies once per batch.
func (e *Effects) Drain() {
	if len(e.Sends)+len(e.Raises)+len(e.Notes) == 0 {
		return
	}
	clear(e.Sends)
	clear(e.Raises)
	clear(e.Notes)
	e.Sends, e.Raises, e.Notes = e.Sends[:0], e.Raises[:0], e.Notes[:0]
}

// Forwards is a machine whose member may have no role in the space: then it forwards its clients to members that have
// one.
type Forwards interface {
	Machine
	// Nonmember reports whether the member has no role in the space.
	Nonmember() bool
}

// Assures is a machine that assures its grants for a time of its own, instead of the member's lease.
type Assures interface {
	Machine
	// Assured returns until when all locks held through this member are safe.
	Assured() Time
}

// Peer is a machine of a protocol in which no member is in charge (Descriptor.Peers).
type Peer interface {
	Machine
	// Own returns the space's condition at this member, counting only its own clients.
	Own(now Time) *Condition
}
