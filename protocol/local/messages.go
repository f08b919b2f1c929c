package local

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The messages of operators' calls, all sent as values.
//
//	asked by people → all     Query
//	peer            → asker   Answer
type (
	// Tag is what every message between peers begins with, those of the protocol too. One of
	// another view than the receiver's, or of a tenure that its view does not have, is void; one
	// of the view that is about to come waits for it. Nothing is lost with a void one: a member
	// that waits for an answer asks again.
	Tag struct {
		View   uint64
		Epoch  protocol.Epoch
		Tenure protocol.Tenure // the sender's
	}

	// Query is an operator's call that every peer answers for its own clients. It is repeated
	// until it is answered; what it asks for can be done twice.
	Query struct {
		Tag
		Number uint64
		Kind   QueryKind
		Name   string         // QueryShow, QueryBreak; QueryScan: the name behind which it begins
		Token  holdfast.Token // QueryBreak
		Reason string         // QueryBreak
		Prefix string         // QueryScan
		Limit  int            // QueryScan
		Skip   int            // QueryShow: how many of the holders and waiters are known
	}

	// Answer answers a Query. Times in it are relative to when it was sent.
	Answer struct {
		Tag
		Number uint64
		Skip   int
		Locks  []lock.Lock  // QueryShow, QueryScan
		Next   string       // QueryScan: the last name of Locks, where more follow; "" at the end
		More   int          // QueryShow, QueryScan: the last name is not complete; a Show of it with this Skip goes on; 0 where it is
		Grants []lock.Grant // QueryBreak
		Counts Counts       // QueryCount
	}
)

// Counts is how much a member's clients have in the space.
type Counts struct {
	Locks, Waiters, Sessions int
	Awaited                  []protocol.Awaited // by this member, in order of seniority
}

// QueryKind says what a Query asks.
type QueryKind uint8

// The kinds.
const (
	QueryShow QueryKind = iota + 1
	QueryScan
	QueryBreak
	QueryCount
)

// String returns the kind in lower case.
func (k QueryKind) String() string {
	switch k {
	case QueryShow:
		return "show"
	case QueryScan:
		return "scan"
	case QueryBreak:
		return "break"
	case QueryCount:
		return "count"
	}
	return fmt.Sprintf("query %d", uint8(k))
}

// Tagged returns what the message begins with.
func (t Tag) Tagged() Tag { return t }

func (t Tag) String() string {
	return fmt.Sprintf("v%d e%d t%d.%d", t.View, t.Epoch.Counter, t.Tenure.Incarnation, t.Tenure.Lapses)
}

func (m Query) String() string {
	about := []string{}
	if m.Name != "" {
		about = append(about, m.Name)
	}
	return fmt.Sprintf("query %d %v %q · %v", m.Number, m.Kind, about, m.Tag)
}

func (m Answer) String() string { return fmt.Sprintf("answer %d · %v", m.Number, m.Tag) }
