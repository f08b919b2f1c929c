package membership

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// ProtocolVersion is the version of the protocol between members, which must be the same at all.
const ProtocolVersion = 2

// The messages between members, in addition to those of package election. They are sent as
// values.
type (
	// Poll goes from the coordinator to each member, every D/10. If Tenure is the member's own, its lease ends at Echo
	// + min(D, Role) on its own clock.
	Poll struct {
		Epoch  protocol.Epoch
		View   uint64 // number of the polled view
		Seq    uint64 // of this round of polls, echoed in the answer
		Echo   protocol.Time
		Tenure protocol.Tenure // the tenure under which Echo was sent; zero: there is no echo
		Role   time.Duration   // time left of the coordinator's role
		// List is the number, within its epoch, of the coordinator's list of pledges; 0 while it is empty. Pledges is
		// that list, unless the member is known to have recorded it.
		List    uint64
		Pledges *election.Pledges
		// Recorded is the newest version of the pledge of Tenure that the quorums are known to have recorded, and Most
		// the longest reach allowed for it.
		Recorded uint64
		Most     protocol.Reach
		// Closed lists the members with closed spaces, in the order of their ids.
		Closed []Closed
		// Installed and Open describe the view.
		Installed bool
		Open      bool
		// Wait is the time until the view is open; 0 if it is, or if unknown. String leaves it out, because it differs
		// in each poll.
		Wait time.Duration
	}

	// NewView replaces a Poll until the member has accepted the view: COORDINATOR and NEW_STATE, and every later change
	// of the view.
	NewView struct {
		Poll Poll
		View *election.View
	}

	// PollAnswer answers a Poll, or (Seq 0) reports something that cannot wait for one.
	PollAnswer struct {
		Epoch   protocol.Epoch
		View    uint64 // number of this epoch's newest view that was accepted and synced
		Seq     uint64
		At      protocol.Time // sender's clock when it answers
		Tenure  protocol.Tenure
		Wants   protocol.Reach // need of the sender's clients
		Version uint64         // of its pledge; 0 if none in this tenure
		Pledge  protocol.Reach
		Stored  uint64 // newest list of this epoch's pledges that it has recorded
		// Reported reports that the spaces of this epoch's authority know all holds of the sender's clients.
		Reported bool
		Leaving  bool
		Empty    bool // with Leaving: it has no holds and no promises to clients
		// Unheard lists the members, sorted, that a space at the sender has not heard for some time although it needs
		// their answers.
		Unheard []protocol.ID
		// Closed lists the ports, sorted, of the spaces that are closed at the sender.
		Closed []protocol.Port
	}

	// ViewAck answers a NewView once it is accepted and synced.
	ViewAck struct{ Answer PollAnswer }

	// Join asks the coordinator for a place in the view.
	Join struct {
		Self     election.Member // the sender as it is now, with its tenure
		Version  uint32
		Promised protocol.Epoch
		Lease    time.Duration // D
		Drift    float64       // δ
		// Definitions has a line for each space, sorted, that all members must agree on.
		Definitions []string
		Founders    []string // sorted
		Cluster     uint64   // the cluster that it has joined; 0 for none
		// Hears lists the members that have answered its latest STATUS_POLL.
		Hears []protocol.ID
	}

	// Unwelcome answers a Join that is refused permanently.
	Unwelcome struct {
		Tenure protocol.Tenure // of the Join
		What   string          // what the two sides disagree on
		Ours   string
		Yours  string
	}

	// JoinDeferred answers a Join that is refused for now: the sender and the named member of the view were found not
	// to hear each other, and the sender has not heard it since.
	JoinDeferred struct {
		Tenure  protocol.Tenure // of the Join
		Unheard string
	}

	// Dropped answers a Join, or a PollAnswer, of a tenure that is no longer in any view of the coordinator: all its
	// holds have ended.
	Dropped struct {
		Epoch  protocol.Epoch
		Tenure protocol.Tenure
	}

	// Resign informs the members that their coordinator is leaving: it has given up its role.
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

// Vocabulary lists one value of each type that a member takes as a call, answers or raises. A package that encodes such
// values needs no others.
func Vocabulary() []any {
	return []any{
		&Leave{}, &Left{}, &Force{}, &Forced{}, &Who{}, &Self{}, &Unfit{},
	}
}
