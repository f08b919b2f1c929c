package protocol

import "time"

// View says who is here, in order of seniority, and who coordinates. A stack's
// lower machine raises one whenever it changes.
type View struct {
	Number      uint64
	Epoch       Epoch
	Members     []Member
	Coordinator ID
	// GrantFrom is when the coordinator may begin to grant: until then, what an
	// earlier one has promised may still be believed (membership.md §7.5). It counts
	// on the clock of the member that reads it, and means something only to the
	// coordinator; Never while it cannot be told.
	GrantFrom Time
	// Count is where the count of tokens begins in this reign.
	Count uint32
	// Lease is the reader's own standing. It is updated in place as polls are
	// answered, so that a grant can check it against the clock; machines above only
	// read it.
	Lease *Lease
}

// Epoch names a reign. The counter alone orders: two epochs with one counter and
// different candidates never both serve.
type Epoch struct {
	Counter   uint64
	Candidate ID
}

// Member is one place in a View. Leases and grants belong to (ID, Tenure).
type Member struct {
	ID      ID
	Name    string
	Address string
	Tenure  Tenure
	Founder bool
}

// Tenure is a member's uninterrupted stay: a new one begins with every start and
// whenever its lease has lapsed. A tenure once dropped never returns.
type Tenure struct {
	Incarnation uint64
	Lapses      uint64
}

// Lease is what a member may act on, by its own clock.
type Lease struct {
	Member Time // it may hold until then
	Role   Time // it may grant until then, if it coordinates
}

// Horizon is raised when it changes, and in answer to every NeedHorizon: what the
// member may promise to clients (membership.md §6).
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

// NeedEpoch asks the coordinator's lower machine for a new epoch under the same
// view, because the count of tokens in the present one is exhausted.
type NeedEpoch struct{ Above uint64 }
