package edge

import (
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
)

// Event is one input of a Machine: the rest of a frame, or the driver's answer to the last Effect.
type Event struct {
	Operations []*schema.Operation // empty for an answer
	Before     int                 // number of the frame's operations already processed
	Allowance  *Allowance
	Overload   error  // refuses new work
	Caller     Caller // of the stream

	Answer any   // to Admit, an *Admission; to Check, a *session.Renewed; to Ask, the result of Outbox.Hear
	Err    error // refuses the hello
}

// Admission is a stream's number at the member, with the addresses for clients.
type Admission struct {
	Sink   uint64
	Roster *Roster
}

// Caller is the identity of the caller as established by the port. The zero value is an unknown caller.
type Caller struct {
	Name     string // for people; if empty, the client's own description is used
	Identity string // for comparison: only its opener may use a session
	Owner    session.Owner
	Permit   Permit // what it may do; nil permits everything
}

// Permit is what the caller of a stream may do. Its methods do not block, and are safe for concurrent use. What a
// session holds is never taken from it by a Permit: releases, cancels and renewals need none.
type Permit interface {
	// Begin returns why the caller may open no session; nil if it may.
	Begin() error
	// Lock returns why the caller may not lock a name; nil if it may.
	Lock(space, name string) error
	// Reads reports whether the caller may learn who holds a name.
	Reads(space, name string) bool
}

// Roster lists the addresses for clients.
type Roster struct {
	Authority string   // of the default space; "" without a leader
	Members   []string // that serve clients
}

// Allowance is how many operations of a frame are still allowed, separately for new requests and for those that keep or
// release. Refusal refuses the others. A nil Allowance has no bound.
type Allowance struct {
	Requests, Returns int
	Refusal           error
}

// Count returns the number of operations of each sort in a frame, of those that are performed.
func Count(operations []*schema.Operation) (requests, returns int) {
	var wanted Allowance
	for _, operation := range operations[:min(len(operations), MaxOperations)] {
		*wanted.of(operation)++
	}
	return wanted.Requests, wanted.Returns
}

// of returns the count of an operation's sort. One without a kind counts as a request, because its refusal is an
// answer.
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
