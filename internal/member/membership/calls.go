package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What the member itself may be asked: an Event of kind Call at Port
// protocol.Below has a pointer to one of these as its Fact.
type (
	// Leave asks to leave the view in good order, and for the last word before the
	// process ends: the answer, *Left, comes when no view has this member any more and
	// the cell says what is promised to clients now. With nothing promised, no member
	// waits for it, and its next start need not wait; so the session machine ends the sessions that
	// hold nothing first. A member that leaves grants and takes nothing more. Without a
	// quorum the answer does not come: the caller must have a limit of its own.
	Leave struct {
		// Empty says that the spaces hold nothing for this member any more, not even for
		// the process itself. It is believed only if no session is promised anything
		// either.
		Empty bool
	}
	// Left answers Leave. Err is why the cell could not be written: then the next
	// start will wait for more than it must.
	Left struct{ Err error }

	// Force makes a view of the members of the newest one that are named, without the
	// quorum that is lost for good (docs/design/membership.md §5). It is safe only if none of the
	// others is alive with a quorum of its own. The answer, *Forced, comes when the view
	// is installed, or cannot be. One is forced at a time.
	Force struct {
		Members []string // names, of members that are alive, this one among them
		Reason  string
		By      string // who the operator is, as far as is known
		// Wall is the wall clock now, since the Unix epoch. Zero derives it from
		// the one at the start, which is behind after a long time.
		Wall time.Duration
	}
	// Forced answers Force. Err says why the view was not forced; Silent names those of
	// the members who have not promised to follow, if that is why. It is empty where
	// nothing can be forced.
	Forced struct {
		Err    error
		Silent []string
	}

	// Who asks what the member knows of itself and of the others. The answer is a
	// *Self.
	Who struct{}
	// Self answers Who. View is nil before the first; Members are those of the view, or
	// this one alone.
	Self struct {
		Cell     Cell
		View     *protocol.View
		Horizon  protocol.Horizon
		State    State         // this member's own
		Why      string        // a sentence where State is not Present, or where there is Stale
		Until    protocol.Time // when the state is expected to end, or Never
		Election election.Variables
		Members  []Standing
		Founders int        // how many are known; they vote
		Missing  []Missing  // those of them that are not here
		Stale    *Staleness // of the cell; nil where it can be written
		// Uncounted says that this member votes, and that a view of which the next one needs a quorum has not got it: it has no
		// place, or that is a proposal. Until that is over the loss of a member that such a view counts on may stop all.
		Uncounted bool
	}
	// Staleness says that no write of the cell has succeeded for a lease or longer.
	Staleness struct {
		Since protocol.Time // when the first of them was sent
		Why   string
	}
	// Standing is what is known here of a member.
	Standing struct {
		election.Member
		Since    protocol.Time // when this member first saw it in a view under its tenure; of itself in no view, when that tenure began
		State    State
		Election election.Status // as far as it is known here
		// Closed lists the ports, sorted, of the spaces that are closed at it, as far as this member knows.
		Closed []protocol.Port
	}

	// Unfit is raised when the member cannot take part: its cell could not be written
	// at the start, or it disagrees with the cluster on what all members must agree on.
	// It must be ended.
	Unfit struct{ Err error }
)

// State says how a member is.
type State uint8

// The states of a member.
const (
	Joining    State = iota // in no view under its tenure
	Recovering              // in a view that is not installed, or that may not grant yet
	Leaving
	Suspected
	Present // normal
)

var stateNames = [...]string{"joining", "recovering", "leaving", "suspected", "normal"}

// String returns the name that every format uses.
func (s State) String() string { return stateNames[s] }
