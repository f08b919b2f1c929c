package edge

import "github.com/holdfast-locks/holdfast/internal/api/schema"

// Event is one input of a Machine: what is left of a frame, or the driver's answer to the Effect before.
type Event struct {
	Operations []*schema.Operation // empty where this is an answer
	Before     int                 // of the frame, that were taken already
	Allowance  *Allowance
	Overload   error  // refuses new work
	Caller     Caller // of the stream

	Answer any   // to Admit, an *Admission; to Check, a *session.Renewed; to Ask, what Outbox.Hear has returned
	Err    error // refuses the hello
}

// Admission is the number of a stream at the member, and where clients can go.
type Admission struct {
	Sink   uint64
	Roster *Roster
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

// of returns the count to which an operation belongs. One without a kind counts as a request:
// for the answer that refuses it.
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
