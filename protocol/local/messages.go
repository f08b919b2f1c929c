package local

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The messages of operators' calls, all sent as values.
//
//	asked by people → all     Ask
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

	// Ask is an operator's call that every peer answers for its own clients. It is repeated
	// until it is answered; what it asks for can be done twice.
	Ask struct {
		Tag
		Number uint64
		Kind   AskKind
		Name   string         // AskShow, AskBreak; AskScan: the name behind which it begins
		Token  holdfast.Token // AskBreak
		Reason string         // AskBreak
		Prefix string         // AskScan
		Limit  int            // AskScan
		Skip   int            // AskShow: how many of the holders and waiters are known
	}

	// Answer answers an Ask. Times in it are relative to when it was sent.
	Answer struct {
		Tag
		Number uint64
		Skip   int
		Locks  []lock.Lock  // AskShow, AskScan
		Next   string       // AskScan: the last name of Locks, where more follow; "" at the end
		More   int          // AskShow, AskScan: the last name is not complete; a Show of it with this Skip goes on; 0 where it is
		Grants []lock.Grant // AskBreak
		Counts Counts       // AskCount
	}
)

// Counts is how much a member's clients have in the space.
type Counts struct {
	Locks, Waiters, Sessions int
	Awaited                  []protocol.Awaited // by this member, in order of seniority
}

// AskKind says what an Ask asks.
type AskKind uint8

// The kinds.
const (
	AskShow AskKind = iota + 1
	AskScan
	AskBreak
	AskCount
)

// String returns the kind in lower case.
func (k AskKind) String() string {
	switch k {
	case AskShow:
		return "show"
	case AskScan:
		return "scan"
	case AskBreak:
		return "break"
	case AskCount:
		return "count"
	}
	return fmt.Sprintf("ask %d", uint8(k))
}

// Tagged returns what the message begins with.
func (t Tag) Tagged() Tag { return t }

func (t Tag) String() string {
	return fmt.Sprintf("v%d e%d t%d.%d", t.View, t.Epoch.Counter, t.Tenure.Incarnation, t.Tenure.Lapses)
}

func (m Ask) String() string {
	about := []string{}
	if m.Name != "" {
		about = append(about, m.Name)
	}
	return fmt.Sprintf("ask %d %v %q · %v", m.Number, m.Kind, about, m.Tag)
}

func (m Answer) String() string { return fmt.Sprintf("answer %d · %v", m.Number, m.Tag) }

// Vocabulary lists one value of each type that is sent here. A package that writes such
// values down, or reads them, needs to know of no others.
func Vocabulary() []any { return []any{Ask{}, Answer{}} }
