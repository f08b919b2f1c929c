package protocol

import (
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
)

// View lists the current members, in order of seniority, and names the coordinator: the candidate of the epoch. The
// coordinator may have any place in that order; it need not be Members[0]. A stack's lower machine raises a View when
// this member has accepted it, and the same one again, as another value, whenever a field below Coordinator changes.
type View struct {
	Number  uint64
	Epoch   Epoch
	Members []Member // in order of seniority
	// Coordinator is Epoch.Candidate. It reconciles, and grants.
	Coordinator ID
	// Installed reports that the view is known to be installed: quorums have accepted it (docs/design/membership.md
	// §4). A coordinator reconciles before that and grants after it.
	Installed bool
	// Open reports that no member outside the view can hold anything any more. Only then do peer-to-peer protocols
	// count the missing members as gone.
	Open bool
	// GrantFrom is when the coordinator may start to grant: until then, the promises of an earlier one may still be
	// believed. It is on the clock of the member that reads it, and matters only to the coordinator; Never while
	// unknown.
	GrantFrom Time
	// Dropped lists the tenures that this epoch's views have dropped, as long as they may still hold something or have
	// just ceased to. It matters only to the coordinator.
	Dropped []Dropped
	// Merged reports that the view joins sides of a partition that continued alone, which is possible in partition mode
	// any only: their grants may conflict.
	Merged bool
	// Count is the start of the token count in this reign.
	Count uint32
	// Lease is the reader's own lease. It is updated in place as polls are answered, so that a grant can check it
	// against the clock; machines above only read it.
	Lease *Lease
	// Former lists, for their names, members of earlier views that this one no longer has, and the reader if it has no
	// place. Machines raise none; a process that shows views to people adds those that it has seen.
	Former []Member
}

// Dropped is a tenure that no view of this epoch has any more. Its holds may be freed from Free on, on the clock of the
// member that reads it; Never until the view without it is installed.
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

// Name returns the name of a member, or its id if neither the view nor Former lists it.
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

// Epoch identifies a reign. Only the counter orders epochs: two epochs with one counter and different candidates never
// both serve, except on the sides of a partition in mode any, and no member follows one after the other.
type Epoch struct {
	Counter   uint64 // at most MaxEpoch
	Candidate ID
}

// MaxEpoch is the highest counter of an epoch, which identifies the reign. Counters that follow the wall clock reach it
// in the year 2094.
const MaxEpoch = lock.MaxReign

// Member is one place in a View. Leases and grants belong to (ID, Tenure).
type Member struct {
	ID      ID
	Name    string
	Address string
	Tenure  Tenure
	Founder bool
	// Since is the number of the first view from which on every view has had this member under this tenure. A member
	// that was left out returns under a later number, regardless of its knowledge of the views between: others may have
	// seen then that it is gone. 0 if no member has recorded it.
	Since uint64
}

// Tenure is a member's uninterrupted membership: a new one begins with every start and whenever its lease has lapsed. A
// dropped tenure never returns.
type Tenure struct {
	Incarnation uint64
	Lapses      uint64
}

// Before reports whether t is an earlier tenure of the same member than o.
func (t Tenure) Before(o Tenure) bool {
	return t.Incarnation < o.Incarnation || t.Incarnation == o.Incarnation && t.Lapses < o.Lapses
}

// Lease is the set of times, by a member's own clock, until which it may act.
type Lease struct {
	// Member is until when it may hold. A grant that an authority of the newest epoch has made or confirmed ends then,
	// unless the lease is renewed first.
	Member Time
	// Role is until when it may grant, if it coordinates.
	Role Time
	// Carried is until when it may hold grants of earlier epochs that no authority of the newest one has confirmed yet.
	// Apart from the horizon it is also until when its clients may believe, because one of them may hold such a grant.
	// It equals Member once every space has raised Confirmed for the epoch.
	Carried Time
	// Tenure is the member's own. A message sent under an earlier one is void.
	Tenure Tenure
	// Promised is the highest epoch counter that the member has promised: it accepts no grant of a lower one.
	Promised uint64
	// Opens is when the view is expected to open, if it is not open; 0 if unknown. The coordinator knows it, and
	// informs the others: for display only, no decision depends on it.
	Opens Time
}

// Opens returns when a view that is not open yet is expected to open; Never if it is open or the time is unknown.
func (v *View) Opens(now Time) Time {
	if v == nil || v.Open || v.Lease == nil || v.Lease.Opens <= now {
		return Never
	}
	return v.Lease.Opens
}

// Lapsed is raised when the member's lease has ended: all its grants have ended with it, and so have its clients'
// sessions. Tenure is the next one, under which it requests admission again.
type Lapsed struct{ Tenure Tenure }

// Halted is raised when the member has made a promise to a candidate, and when its role ends: it grants nothing more
// under an earlier epoch. Holders continue.
type Halted struct{ Promised uint64 }

// Confirmed is raised by a space, down to the membership, when the epoch's authority knows all holds of this member's
// clients in it, and when there are none. Until every space has raised it, the member's clients are promised no more
// than under the previous epoch: the new authority would not know of the grant (docs/design/membership.md §9, V13).
type Confirmed struct{ Epoch uint64 }

// Hint is the fact of an Event of kind Receive from Rumour: a source outside the protocols, such as gossip, believes
// that the member at Address is dead or alive. It is often wrong, and may be late; safety must not depend on it.
type Hint struct {
	Address string
	Alive   bool
}

// Horizon is the limit of the member's promises to clients (docs/design/membership.md §6). It is raised when it
// changes, and in answer to every NeedHorizon.
type Horizon struct {
	// Confirmed is how long past the member's lease clients may believe.
	Confirmed time.Duration
	// Clients reports that promises to clients are allowed at all: a restart of this member will wait for its clients.
	Clients bool
	// Answer reports that this answers the latest NeedHorizon. Without it, the horizon is less than before, from now
	// on; the answer to a pending request is still to come.
	Answer bool
}

// NeedHorizon requests another Horizon from the lower machine: at least Want, as soon as that is safely remembered; or
// less than before, when no longer promise is outstanding. Without Clients nothing is promised to any client any more,
// so that a restart need not wait. The answer is a raised Horizon; if the wanted one could not be remembered, it is the
// limit that applies nevertheless.
type NeedHorizon struct {
	Want    time.Duration
	Clients bool
}

// Unheard is raised by a machine above, down to the membership, whenever it changes: members of the view that have not
// answered several copies of a message, though the coordinator may hear both them and this member. If it lasts for a
// lease, one of the two loses its place in the view, so that the others can continue: see package membership.
type Unheard struct{ IDs []ID }

// SpaceState is raised by a machine above, down to the membership, when the space's instance at this member is closed
// ([CloseSpace]) or reopened: the other members' status shows it.
type SpaceState struct{ Closed bool }

// NeedEpoch requests a new epoch under the same view from the coordinator's lower machine, because the current one's
// token count is exhausted.
type NeedEpoch struct{ Above uint64 }
