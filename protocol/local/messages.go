package local

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// The messages of operators' calls, all sent as values.
//
//	asked by people → all     Query
//	peer            → asker   Answer
type (
	// Tag is the start of every message between peers, including the protocol's. A message of another view than the
	// receiver's, or of a tenure that its view does not have, is void; one of the view that is about to come waits for
	// it. Nothing is lost with a void one: a member that waits for an answer repeats its question.
	Tag struct {
		View   uint64
		Epoch  protocol.Epoch
		Tenure protocol.Tenure // the sender's
	}

	// Query is an operator's call that every peer answers for its own clients. What it asks for can be done twice.
	Query struct {
		Tag
		admin.Query
	}

	// Answer answers a Query. For an Inspect it has the member's clients' counts, in an otherwise empty Condition.
	Answer struct {
		Tag
		admin.Answer
	}
)

// Tagged returns the message's Tag.
func (t Tag) Tagged() Tag { return t }

func (t Tag) String() string {
	return fmt.Sprintf("v%d e%d t%d.%d", t.View, t.Epoch.Counter, t.Tenure.Incarnation, t.Tenure.Lapses)
}

func (m Query) String() string { return fmt.Sprintf("%v · %v", m.Query, m.Tag) }

func (m Answer) String() string { return fmt.Sprintf("%v · %v", m.Answer, m.Tag) }
