package election

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// The messages of an election. They are sent as values. NEW_STATE, which includes COORDINATOR, and its answer are
// package membership's NewView and ViewAck.
type (
	// StatusPoll asks a member for its status: STATUS_POLL. It changes no state there.
	StatusPoll struct {
		Number uint64 // of this question, echoed in the answer; unique among all lives of the asker
	}

	// StatusAnswer answers a StatusPoll, and (Number 0) a Join sent to a member that does not coordinate.
	StatusAnswer struct {
		Number      uint64
		Self        Member
		Priority    int // of Self, for seniority at a bootstrap
		Status      Status
		Candidate   protocol.ID // the candidate whose election it has accepted, while Status is Halted
		Coordinator protocol.ID // the member that it follows; 0 for none
		Address     string      // of Coordinator
		// Well reports that the sender considers its coordinator well: it would refuse its promise to another
		// candidate.
		Well  bool
		Lease time.Duration // time left of the sender's lease
		View  *View         // newest accepted; nil if none
		// Promised is the highest epoch that the sender has promised, or may have promised and forgotten.
		Promised protocol.Epoch
		Founders []string // the founders' addresses in the sender's configuration, sorted
		Terms    []string // the part of its configuration that all members must agree on
		// Leaving reports that the sender cannot lead a view: it is leaving, or its cell cannot be written.
		Leaving bool
		// Wait is how long a coordinator admits no members, because earlier promises have not run out; 0 if it does not
		// wait, and from any other member. It is informational.
		Wait time.Duration
	}

	// Election asks for a promise: ELECTION.
	Election struct {
		Epoch protocol.Epoch
		View  *View    // the newest known to the candidate; nil at a bootstrap
		Terms []string // of the candidate and its view
		// Merge marks a candidate that coordinates one side of a partition, has met another side, and wants to lead
		// both. Only in partition mode any.
		Merge bool
		// NoQuorum marks a view that no quorum of the newest view confirms: all founders attend instead, or an operator
		// forces it. Later views may be lost with a quorum's cells.
		NoQuorum bool
	}

	// Promise answers an Election: the sender no longer follows any member of a lower epoch. It is synced before it is
	// sent.
	Promise struct {
		Epoch    protocol.Epoch
		At       protocol.Time // time on the sender's clock, echoed by NewView
		Self     Member        // the sender as it is now, with its tenure
		Priority int
		Accepted *View    // newest accepted, with its base; nil if none
		Pledges  *Pledges // all that the sender knows
		// Owes is how long, on the sender's clock, clients may still believe promises of its earlier lives; a member
		// that waits for that waits (1+δ) times as long. Zero if those lives ended in an orderly way.
		Owes    time.Duration
		Leaving bool // the sender wants no place in the next view
		Empty   bool // with Leaving: it has no holds and no promises to clients
	}

	// Refuse answers an Election or a Poll of an epoch that the sender does not follow, with the sender's own state.
	Refuse struct {
		Epoch    protocol.Epoch // of the refused message
		Promised protocol.Epoch
		Well     bool
		Tenure   protocol.Tenure
		View     *View // newest accepted; nil if none
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
