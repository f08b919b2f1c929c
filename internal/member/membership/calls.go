package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The calls of the member itself: an Event of kind Call at Port protocol.Below has a pointer to one of these as its
// Fact.
type (
	// Leave asks to leave the view in an orderly way. The answer, *Left, comes when no view contains this member any
	// more and the cell records the current promises to clients, so the process may end. Without promises, no other
	// member waits for it, and its next start need not wait; so the session machine first ends the sessions without
	// holds. A leaving member makes no new grants or requests. Without a quorum no answer comes: the caller must have
	// its own time limit.
	Leave struct {
		// Empty reports that the spaces have no holds of this member any more, not even of the process itself. It
		// counts only if no session has a promise either.
		Empty bool
	}
	// Left answers Leave. Err is the reason why the cell could not be written: then the next start waits longer than
	// necessary.
	Left struct{ Err error }

	// Force makes a view from the named members of the newest one, without its quorum, which is permanently lost
	// (docs/design/membership.md §5). It is safe only if the others are not alive with a quorum of their own. The
	// answer, *Forced, comes when the view is installed, or cannot be. Only one Force runs at a time.
	Force struct {
		Members []string // names of live members, including this one
		Reason  string
		By      string // the operator, as far as is known
		// Wall is the current wall clock, since the Unix epoch. Zero derives it from the wall clock at the start, which
		// lags after a long time.
		Wall time.Duration
	}
	// Forced answers Force. Err is the reason why the view was not forced. If members did not promise to follow, Silent
	// names them; otherwise it is empty.
	Forced struct {
		Err    error
		Silent []string
	}

	// Who asks for the member's knowledge of itself and of the others. The answer is a *Self.
	Who struct{}
	// Self answers Who. View is nil before the first view; Members are those of the view, or this one alone.
	Self struct {
		Cell     Cell
		View     *protocol.View
		Horizon  protocol.Horizon
		State    State         // this member's own
		Why      string        // a sentence, if State is not Present or Stale is not nil
		Until    protocol.Time // when the state is expected to end, or Never
		Election election.Variables
		Members  []Standing
		Founders int        // how many founders are known; they vote
		Missing  []Missing  // the founders that are not in the view
		Stale    *Staleness // of the cell; nil if it can be written
		// Uncounted reports that this member votes, but is missing from a view whose quorum the next one needs: it has
		// no place, or only in a proposal. Until that is over, the loss of a member that such a view counts on may stop
		// the cluster.
		Uncounted bool
	}
	// Staleness reports that no write of the cell has succeeded for at least a lease.
	Staleness struct {
		Since protocol.Time // when the first unsuccessful write was sent
		Why   string
	}
	// Standing is this member's knowledge of a member.
	Standing struct {
		election.Member
		Since    protocol.Time // when this member first saw it in a view under its tenure; for itself outside any view, when that tenure began
		State    State
		Election election.Status // as far as is known here
		// Closed lists the ports, sorted, of the spaces closed at that member, as far as is known here.
		Closed []protocol.Port
	}

	// Unfit is raised when the member cannot run: its cell could not be written at the start, or it disagrees with the
	// cluster on the common terms. The driver must end it.
	Unfit struct{ Err error }
)

// State is the condition of a member.
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
