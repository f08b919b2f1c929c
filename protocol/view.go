package protocol

import (
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
)

// View lists the members that are here, in order of seniority, and names the
// coordinator: the candidate of the epoch. The coordinator may have any place in that
// order; it need not be Members[0]. A stack's
// lower machine raises one when this member has accepted it, and the same one again,
// as another value, whenever something below Coordinator changes.
type View struct {
	Number  uint64
	Epoch   Epoch
	Members []Member // in order of seniority
	// Coordinator is Epoch.Candidate. It reconciles, and grants.
	Coordinator ID
	// Installed says that the view is known to be installed: quorums have accepted it
	// (docs/design/membership.md §4). A coordinator reconciles before that and grants after it.
	Installed bool
	// Open says that no member outside the view can hold anything any more. Only then
	// do peer-to-peer protocols count the members that it lacks as gone.
	Open bool
	// GrantFrom is when the coordinator may begin to grant: until then, what an
	// earlier one has promised may still be believed. It counts
	// on the clock of the member that reads it, and means something only to the
	// coordinator; Never while it is not known.
	GrantFrom Time
	// Dropped lists the tenures that this epoch's views have left behind, as far as
	// they may still hold something or have just ceased to. It means something only to
	// the coordinator.
	Dropped []Dropped
	// Merged says that the view joins sides of a partition that went on alone, which can
	// be in partition mode any only: what they have granted may conflict.
	Merged bool
	// Count is where the count of tokens begins in this reign.
	Count uint32
	// Lease is the reader's own standing. It is updated in place as polls are
	// answered, so that a grant can check it against the clock; machines above only
	// read it.
	Lease *Lease
	// Former are members of earlier views that this one has no more, and the reader where it has no place, for their names.
	// Machines raise none; a process that shows views to people adds those that it has seen.
	Former []Member
}

// Dropped is a tenure that no view of this epoch has any more. What it holds may be
// freed from Free on, on the clock of the member that reads it; Never until the view
// without it is installed.
type Dropped struct {
	ID     ID
	Tenure Tenure
	Free   Time
}

// Of returns the place of a member in the view.
func (v *View) Of(id ID) (Member, bool) {
	for _, member := range v.Members {
		if member.ID == id {
			return member, true
		}
	}
	return Member{}, false
}

// Name returns the name of a member, or its id where neither the view nor Former lists it.
func (v *View) Name(id ID) string {
	if member, listed := v.Of(id); listed {
		return member.Name
	}
	for _, member := range v.Former {
		if member.ID == id {
			return member.Name
		}
	}
	return strconv.FormatUint(uint64(id), 36)
}

// Epoch names a reign. The counter alone orders: two epochs with one counter and
// different candidates never both serve, but for the sides of a partition in mode any,
// and no member follows one after the other.
type Epoch struct {
	Counter   uint64 // at most MaxEpoch
	Candidate ID
}

// MaxEpoch is the highest counter of an epoch: reigns are named by it. Counters that follow
// the wall clock get there in the year 2094.
const MaxEpoch = lock.MaxReign

// Member is one place in a View. Leases and grants belong to (ID, Tenure).
type Member struct {
	ID      ID
	Name    string
	Address string
	Tenure  Tenure
	Founder bool
	// Since is the number of the view since which every view has had this member under this
	// tenure. One that was left out meanwhile is back under a later number, regardless of
	// what it has heard of the views between: others may have seen then that it is
	// gone. 0 where no member has recorded it.
	Since uint64
}

// Tenure is a member's uninterrupted stay: a new one begins with every start and
// whenever its lease has lapsed. A tenure once dropped never returns.
type Tenure struct {
	Incarnation uint64
	Lapses      uint64
}

// Before orders tenures of one member.
func (t Tenure) Before(o Tenure) bool {
	return t.Incarnation < o.Incarnation || t.Incarnation == o.Incarnation && t.Lapses < o.Lapses
}

// Lease is what a member may act on, by its own clock.
type Lease struct {
	// Member is until when it may hold. A grant that an authority of the newest epoch
	// has given or confirmed ends then, unless the lease is renewed before.
	Member Time
	// Role is until when it may grant, if it coordinates.
	Role Time
	// Carried is until when it may hold what was granted under earlier epochs and what
	// no authority of the newest one has confirmed yet; and until when, the horizon
	// apart, its clients may believe, because one of them may hold such a
	// grant. It equals Member once every space has raised Confirmed for the epoch.
	Carried Time
	// Tenure is the member's own. What was sent under an earlier one is void.
	Tenure Tenure
	// Promised is the highest epoch counter that the member has promised: it takes no
	// grant of a lower one.
	Promised uint64
	// Opens is when the view is expected to be open, where it is not; 0 where that is not known.
	// The coordinator knows it, and tells the others: for people, nothing is decided by it.
	Opens Time
}

// Opens returns when a view that is not open yet is expected to be; Never where it is, and where that is not known.
func (v *View) Opens(now Time) Time {
	if v == nil || v.Open || v.Lease == nil || v.Lease.Opens <= now {
		return Never
	}
	return v.Lease.Opens
}

// Lapsed is raised when the member's lease has ended: every grant that it holds has
// ended with it, and so have the sessions of its clients. Tenure is the next one,
// under which it asks to be admitted again.
type Lapsed struct{ Tenure Tenure }

// Halted is raised when the member has promised itself to a candidate, and when its
// role ends: it grants nothing more under an earlier epoch. Holders go on.
type Halted struct{ Promised uint64 }

// Confirmed is raised by a space, down to the membership, when the authority of the
// epoch knows all that this member's clients hold in it, and when there is no such
// thing. Until every space has, the member's clients are promised no more than under
// the epoch before: the new authority would not know of the grant (docs/design/membership.md §9, V13).
type Confirmed struct{ Epoch uint64 }

// Hint is the fact of an Event of kind Receive from Rumour: something outside of the
// protocols, a gossip for example, believes that the member at Address is dead or
// alive. It is often wrong, and may be late; nothing unsafe may follow from it.
type Hint struct {
	Address string
	Alive   bool
}

// Horizon is raised when it changes, and in answer to every NeedHorizon: what the
// member may promise to clients (docs/design/membership.md §6).
type Horizon struct {
	// Confirmed is how long past the member's lease clients may believe.
	Confirmed time.Duration
	// Clients says that anything may be promised at all: a restart of this member
	// will wait for its clients.
	Clients bool
	// Answer says that this answers the latest NeedHorizon. Without it, it is less than
	// before, from now on; the answer to what was asked meanwhile is still to come.
	Answer bool
}

// NeedHorizon asks the lower machine for another Horizon: at least Want, as soon
// as that is safely remembered; or less than before, when no longer promise is
// outstanding. Without Clients nothing is promised to any client any more, so that
// a restart need not wait. The answer is a raised Horizon; when what was wanted
// could not be remembered, it is what may be promised nevertheless.
type NeedHorizon struct {
	Want    time.Duration
	Clients bool
}

// Unheard is raised by a machine above, down to the membership, whenever it changes: members
// of the view that have answered nothing for several copies of what they were sent, though the
// coordinator may hear both them and this member. What has stood for a lease costs one of
// the two its place in the view, so that the others can go on: see package membership.
type Unheard struct{ IDs []ID }

// SpaceState is raised by a machine above, down to the membership, when the space's instance at this
// member is closed ([CloseSpace]), and when it is opened again: the other members' status shows it.
type SpaceState struct{ Closed bool }

// NeedEpoch asks the coordinator's lower machine for a new epoch under the same
// view, because the count of tokens in the present one is exhausted.
type NeedEpoch struct{ Above uint64 }
