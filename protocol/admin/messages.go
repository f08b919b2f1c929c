package admin

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Query is an operator's call in a message between members. A protocol embeds it in its own message, after the common
// start. It is repeated until it is answered.
type Query struct {
	Number uint64
	Low    uint64 // the asking member has heard the answers to all numbers below
	Kind   Kind
	Name   string         // Show, Break; Scan: the name behind which it begins
	Token  holdfast.Token // Break
	Reason string         // Break
	Prefix string         // Scan
	Limit  int            // Scan
	Skip   int            // Show: how many of the holders and waiters are known already
}

// Answer answers a Query, and is embedded in the same way. Its times are relative to its sending: two members' clocks
// are not compared.
type Answer struct {
	Number    uint64
	Skip      int                // that of the Query
	Locks     []lock.Lock        // Show, Scan
	Next      string             // Scan: the last name of Locks, if more follow; "" at the end
	More      int                // Show, Scan: the last name is incomplete; a Show of it with this Skip continues; 0 if it is complete
	Grants    []lock.Grant       // Break
	Err       error              // Break
	Condition protocol.Condition // Inspect
}

// Kind is the kind of a Query.
type Kind uint8

// The kinds. Copy is a [protocol.Copy], which goes to no other member.
const (
	Show Kind = iota + 1
	Scan
	Break
	Inspect
	Copy

	// LastKind is the last one that a member asks of another.
	LastKind = Inspect
)

var kindNames = [...]string{Show: "show", Scan: "scan", Break: "break", Inspect: "inspect", Copy: "copy"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("query %d", uint8(k))
	}
	return kindNames[k]
}

// IsValid reports whether a member can have asked this of another.
func (q *Query) IsValid() bool { return q.Skip >= 0 && q.Kind >= Show && q.Kind <= LastKind }

func (q Query) String() string { return fmt.Sprintf("query %d %v %q", q.Number, q.Kind, q.Name) }

func (a Answer) String() string { return fmt.Sprintf("answer %d", a.Number) }

// after returns the answer to a query of a kind, with its times later by a duration.
func (a Answer) after(by protocol.Time, kind Kind) Answer {
	locks, grants := make([]lock.Lock, len(a.Locks)), make([]lock.Grant, len(a.Grants))
	for i, l := range a.Locks {
		locks[i] = l.After(by)
	}
	for i, g := range a.Grants {
		grants[i] = g.After(by)
	}
	a.Locks, a.Grants = locks, grants
	if kind == Inspect {
		a.Condition = a.Condition.After(by)
	}
	return a
}
