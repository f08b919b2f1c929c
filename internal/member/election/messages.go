package election

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// The messages of an election. They are sent as values. NEW_STATE, which carries
// COORDINATOR within, and its answer are package membership's NewView and ViewAck.
type (
	// StatusPoll asks a member how it is: STATUS_POLL. It changes nothing there.
	StatusPoll struct {
		Number uint64 // of this question, echoed in the answer; no other life of the asker's uses it
	}

	// StatusAnswer answers a StatusPoll, and (Number 0) a Join that came to a member that
	// does not coordinate.
	StatusAnswer struct {
		Number      uint64
		Self        Member
		Priority    int // of Self, for the seniority at a bootstrap
		Status      Status
		Candidate   protocol.ID // whose election it has accepted, while Status is Halted
		Coordinator protocol.ID // the member that it follows; 0 where there is none
		Address     string      // of Coordinator
		// Well says that the sender's coordinator is well as far as it knows: it would
		// refuse to promise itself to another candidate.
		Well  bool
		Lease time.Duration // what remains of the sender's lease
		View  *View         // newest accepted; nil where none is known
		// Promised is the highest epoch that the sender has promised, or can have promised
		// and forgotten.
		Promised protocol.Epoch
		Founders []string // the addresses that the sender was configured with, sorted
		Terms    []string // what it was configured with that all members must agree on
		// Leaving says that the sender leads no view: it leaves, or its cell cannot be written.
		Leaving bool
		// Wait is how long a coordinator gives no places, because it waits until what was promised before it has run out; 0
		// where it does not wait, and from any other member. It decides nothing: it is for people.
		Wait time.Duration
	}

	// Election asks for a promise: ELECTION.
	Election struct {
		Epoch protocol.Epoch
		View  *View    // the newest that the candidate knows; nil at a bootstrap
		Terms []string // the candidate's, and its view's
		// Merge says that the candidate coordinates one side of a partition, has met
		// another, and would lead both. Only in partition mode any.
		Merge bool
		// NoQuorum says that no quorum of the newest view confirms the next one: all founders
		// attend instead, or an operator forces it. Later views may be lost with a quorum's cells.
		NoQuorum bool
	}

	// Promise answers an Election: the sender follows no member of a lower epoch any
	// more. It has been synced before it was sent.
	Promise struct {
		Epoch    protocol.Epoch
		At       protocol.Time // on the sender's clock; NewView echoes it
		Self     Member        // as it is now, with its tenure
		Priority int
		Accepted *View    // newest accepted, with its base; nil where none is known
		Pledges  *Pledges // all that it knows of
		// Owes is how long, on the sender's clock, what earlier lives of it have promised
		// may still be believed; a member that waits for that waits (1+δ) times as long.
		// Zero where they ended in good order.
		Owes    time.Duration
		Leaving bool // it wants no place in the next view
		Empty   bool // with Leaving: it holds nothing and has promised nothing to any client
	}

	// Refuse answers an Election or a Poll of an epoch that the sender does not follow,
	// with what it knows.
	Refuse struct {
		Epoch    protocol.Epoch // of what is refused
		Promised protocol.Epoch
		Well     bool
		Tenure   protocol.Tenure
		View     *View // newest accepted; nil where none is known
	}
)

func (m StatusPoll) String() string { return "status poll " + protocol.FormatNumber("#", m.Number) }

func (m StatusAnswer) String() string {
	well := "not well"
	if m.Well {
		well = "well"
	}
	if m.Leaving {
		well += " leaving"
	}
	return fmt.Sprintf("status %s %v %s promised @%d %v", protocol.FormatNumber("#", m.Number), m.Status, well, m.Promised.Counter, m.View)
}

func (m Election) String() string {
	kind := "election"
	switch {
	case m.Merge:
		kind = "merge"
	case m.NoQuorum && m.View != nil:
		kind = "election without a quorum"
	}
	return fmt.Sprintf("%s @%d %v", kind, m.Epoch.Counter, m.View)
}

func (m Promise) String() string {
	text := fmt.Sprintf("promise @%d at=%v %d:%d accepted %v", m.Epoch.Counter, m.At, m.Self.Tenure.Incarnation, m.Self.Tenure.Lapses, m.Accepted)
	if !m.Pledges.Empty() {
		text += fmt.Sprintf(" %v", m.Pledges)
	}
	if m.Owes > 0 {
		text += fmt.Sprintf(" owes=%v", m.Owes)
	}
	if m.Leaving {
		text += fmt.Sprintf(" leaving empty=%v", m.Empty)
	}
	return text
}

func (m Refuse) String() string {
	return fmt.Sprintf("refuse @%d promised @%d well=%v %v", m.Epoch.Counter, m.Promised.Counter, m.Well, m.View)
}
