package membership

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// ProtocolVersion is the version that members must agree on to understand one another.
const ProtocolVersion = 2

// The messages between members, in addition to those of package election. They are sent as
// values.
type (
	// Poll goes from the coordinator to each member, every D/10. The member's lease
	// ends at Echo + min(D, Role) on its own clock, if Tenure is its own.
	Poll struct {
		Epoch  protocol.Epoch
		View   uint64 // number of the view that is polled
		Seq    uint64 // of this round of polls, echoed in the answer
		Echo   protocol.Time
		Tenure protocol.Tenure // under which Echo was sent; zero: there is no echo
		Role   time.Duration   // what remains of the coordinator's role
		// List numbers what the coordinator knows of pledges, by its epoch; 0 while it knows of
		// none. Pledges are those, where the member is not known to have written them down.
		List    uint64
		Pledges *election.Pledges
		// Recorded is the newest version of the pledge of Tenure that the quorums are known to
		// have written down, and Most the longest reach that it may be of.
		Recorded uint64
		Most     protocol.Reach
		// Closed lists the members, in the order of their ids, at which spaces are closed.
		Closed []Closed
		// Installed and Open are known of the view.
		Installed bool
		Open      bool
		// Wait is how long it takes until the view is open; 0 where it is, and where that is not known. String leaves it out,
		// because it differs in each poll.
		Wait time.Duration
	}

	// NewView is sent in the place of a Poll until the member has accepted the view:
	// COORDINATOR and NEW_STATE, and every later change of the view.
	NewView struct {
		Poll Poll
		View *election.View
	}

	// PollAnswer answers a Poll, and (Seq 0) tells what cannot wait for one.
	PollAnswer struct {
		Epoch   protocol.Epoch
		View    uint64 // number of the newest view of this epoch that was accepted and synced
		Seq     uint64
		At      protocol.Time // on the sender's clock when it answers
		Tenure  protocol.Tenure
		Wants   protocol.Reach // what the sender's clients need
		Version uint64         // of its pledge; 0 where it has made none in this tenure
		Pledge  protocol.Reach
		Stored  uint64 // the newest list of this epoch's pledges that it has written down
		// Reported says that the spaces of this epoch's authority know all that the
		// sender's clients hold.
		Reported bool
		Leaving  bool
		Empty    bool // with Leaving: it holds nothing and has promised nothing to any client
		// Unheard lists the members, sorted, that a space at the sender has not heard for some
		// time though it needs their answers.
		Unheard []protocol.ID
		// Closed lists the ports, sorted, of the spaces whose instances at the sender are closed.
		Closed []protocol.Port
	}

	// ViewAck answers a NewView that was accepted and synced.
	ViewAck struct{ Answer PollAnswer }

	// Join asks the coordinator for a place in the view.
	Join struct {
		Self     election.Member // as it is now, with its tenure
		Version  uint32
		Promised protocol.Epoch
		Lease    time.Duration // D
		Drift    float64       // δ
		// Definitions has a line for each space, sorted: what all members must agree on.
		Definitions []string
		Founders    []string // sorted
		Cluster     uint64   // in which it has taken part; 0 where in none
		// Hears lists the members that have answered its latest STATUS_POLL.
		Hears []protocol.ID
	}

	// Unwelcome answers a Join that is refused for good.
	Unwelcome struct {
		Tenure protocol.Tenure // of the Join
		What   string          // what the two sides disagree on
		Ours   string
		Yours  string
	}

	// JoinDeferred answers a Join that is refused for now: the sender and a member of the view, which is
	// named, were found not to hear each other, and the sender has not heard it since.
	JoinDeferred struct {
		Tenure  protocol.Tenure // of the Join
		Unheard string
	}

	// Dropped answers a Join, or a PollAnswer, of a tenure that no view of the coordinator has
	// any more: all that it holds has ended.
	Dropped struct {
		Epoch  protocol.Epoch
		Tenure protocol.Tenure
	}

	// Resign tells the members that their coordinator leaves: it has given up its role.
	Resign struct{ Epoch protocol.Epoch }
)

func (m Poll) String() string {
	text := fmt.Sprintf("poll #%d v%d@%d", m.Seq, m.View, m.Epoch.Counter)
	if m.Tenure != (protocol.Tenure{}) {
		text += fmt.Sprintf(" echo=%v of %d:%d role=%v", m.Echo, m.Tenure.Incarnation, m.Tenure.Lapses, m.Role)
	}
	if m.Most > 0 || m.Recorded > 0 {
		text += fmt.Sprintf(" list #%d recorded #%d of %v", m.List, m.Recorded, m.Most.Span())
	}
	if !m.Pledges.Empty() {
		text += fmt.Sprintf(" %v", m.Pledges)
	}
	for _, c := range m.Closed {
		text += fmt.Sprintf(" closed at %d: %v", c.Member, c.Ports)
	}
	if m.Installed {
		text += " installed"
	}
	if m.Open {
		text += " open"
	}
	return text
}

func (m NewView) String() string { return fmt.Sprintf("new view %v %v", m.View, m.Poll) }

func (m PollAnswer) String() string {
	text := fmt.Sprintf("answer #%d v%d@%d at=%v %d:%d", m.Seq, m.View, m.Epoch.Counter, m.At, m.Tenure.Incarnation, m.Tenure.Lapses)
	if m.Wants > 0 || m.Version > 0 {
		text += fmt.Sprintf(" wants=%v pledge #%d %v", m.Wants.Span(), m.Version, m.Pledge.Span())
	}
	if m.Stored > 1 {
		text += fmt.Sprintf(" stored list #%d", m.Stored)
	}
	if m.Reported {
		text += " reported"
	}
	if m.Leaving {
		text += fmt.Sprintf(" leaving empty=%v", m.Empty)
	}
	if len(m.Unheard) > 0 {
		text += fmt.Sprintf(" does not hear %v", m.Unheard)
	}
	if len(m.Closed) > 0 {
		text += fmt.Sprintf(" closed %v", m.Closed)
	}
	return text
}

func (m ViewAck) String() string { return "accepted: " + m.Answer.String() }

func (m Join) String() string {
	return fmt.Sprintf("join %s %d:%d promised %d", m.Self.Name, m.Self.Tenure.Incarnation, m.Self.Tenure.Lapses, m.Promised.Counter)
}

func (m Unwelcome) String() string {
	return fmt.Sprintf("unwelcome: %s is %q here, %q there", m.What, m.Ours, m.Yours)
}

func (m JoinDeferred) String() string {
	return fmt.Sprintf("put off %d:%d until it hears %s", m.Tenure.Incarnation, m.Tenure.Lapses, m.Unheard)
}

func (m Dropped) String() string {
	return fmt.Sprintf("dropped %d:%d @%d", m.Tenure.Incarnation, m.Tenure.Lapses, m.Epoch.Counter)
}

func (m Resign) String() string { return fmt.Sprintf("resign @%d", m.Epoch.Counter) }

// Vocabulary lists one value of each type that a member is asked, answers and raises. A package that writes
// such values down, or reads them, needs to know of no others.
func Vocabulary() []any {
	return []any{
		&Leave{}, &Left{}, &Force{}, &Forced{}, &Who{}, &Self{}, &Unfit{},
	}
}
