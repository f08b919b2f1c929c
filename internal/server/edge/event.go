package edge

import "github.com/holdfast-locks/holdfast/internal/api/schema"

// EventKind says what an Event is.
type EventKind uint8

// The kinds of events. The fields that each has are named behind it.
const (
	// Frames is what is left of a frame: Operations, of which Before were taken already, within Allowance. Overload refuses new work. The
	// first operation of a stream is its hello, by Caller.
	Frames EventKind = iota
	// Admitted answers [Admit]: the stream has number Sink at the member, and clients can go where Roster says. Err refuses the hello.
	Admitted
	// Checked answers [Check] with Answer, a *session.Renewed.
	Checked
	// Occupied answers [Occupy]. Err says that the client has gone before.
	Occupied
	// Answered answers [Ask] with Answer, a *session.Opened or *session.Renewed, as [Outbox.Hear] has returned it.
	Answered
)

// Event is one input of a Machine.
type Event struct {
	Kind       EventKind
	Operations []*schema.Operation
	Before     int
	Allowance  *Allowance
	Overload   error
	Caller     Caller
	Sink       uint64
	Roster     *Roster
	Answer     any
	Err        error
}

// Caller is the caller, as the port has found out. Its zero value is a caller of which nothing is known.
type Caller struct {
	Name     string // for people; else they see what the client says of itself
	Identity string // for comparison: a session is its opener's alone
}

// Roster is where clients can go.
type Roster struct {
	Authority string   // of the default space; "" where no member is in charge
	Members   []string // that serve clients
}

// Allowance is how many operations of a frame may still be done, of those that ask for something and of those that keep or give back.
// Refusal refuses the others. A nil Allowance has no bound.
type Allowance struct {
	Requests, Returns int
	Refusal           error
}

// Count returns how many operations of each sort a frame has, of those that are performed.
func Count(operations []*schema.Operation) (requests, returns int) {
	var wanted Allowance
	for _, operation := range operations[:min(len(operations), MaxOperations)] {
		*wanted.of(operation)++
	}
	return wanted.Requests, wanted.Returns
}

// of returns the count to which an operation belongs. What has no kind asks for
// something: for an answer that refuses it.
func (a *Allowance) of(operation *schema.Operation) *int {
	switch operation.GetKind().(type) {
	case *schema.Operation_Release, *schema.Operation_Cancel, *schema.Operation_Beat, *schema.Operation_End:
		return &a.Returns
	}
	return &a.Requests
}

// admits takes an operation from the allowance, and reports whether it was within it.
func (a *Allowance) admits(operation *schema.Operation) bool {
	if a == nil {
		return true
	}
	left := a.of(operation)
	if *left == 0 {
		return false
	}
	*left--
	return true
}
