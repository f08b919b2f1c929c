package node

import (
	"context"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Break takes a name from its holders, as an operator does: each of them loses its lock, and the name is free when
// each has stopped. The error is ErrNotHeld where no client holds the name, and ErrHeld, with the former holder and the end of its
// grace, where the name is kept after a hold limit.
func (n *Node) Break(ctx context.Context, space, name, reason string) error {
	return n.member.Break(ctx, space, name, reason)
}

// Suspend stops new grants of a space at once, and returns when all that was held is released. Nothing is granted from
// then on until Resume, through any member. The suspension also ends with this member, and with its lease. A space that
// is suspended already stays so. Where ctx ends first, grants go on, and the error is the context's. Other
// errors are an ErrUnavailable, an ErrUnsupported and an ErrSpace.
func (n *Node) Suspend(ctx context.Context, space, reason string) error {
	return n.member.Suspend(ctx, space, reason)
}

// Resume lets a space grant again, through whichever member it was suspended. A space that is not suspended is no error. The
// error is an ErrUnavailable where no member decides, an ErrSpace, or the context's.
func (n *Node) Resume(ctx context.Context, space, reason string) error {
	return n.member.Resume(ctx, space, reason)
}

// Transfer makes a member, given by its name or address, the authority of a space, and returns when that member serves. What
// is held and waited for stays as it is. Where ctx ends first it may happen nevertheless. The error is an
// ErrUnsupported where the protocol hands nothing over; an ErrConflict where the view has no such member, the member has the
// space closed, or another one became the authority meanwhile; an ErrUnavailable where no member decides; an ErrSpace.
func (n *Node) Transfer(ctx context.Context, space, member string) error {
	return n.member.Transfer(ctx, space, member)
}

// BecomeGrantor makes this member the authority of a space, as Transfer does: its own locks there cost no message from then on.
func (n *Node) BecomeGrantor(ctx context.Context, space string) error {
	return n.member.BecomeGrantor(ctx, space)
}

// Reform changes the part of a member in a space of protocol consensus, and returns when that is so in all shards. A member
// becomes a learner first, which gets all that was decided, and then a voter. The member is given by its name or address,
// and a voter that has left the view also by its id. Where ctx ends first it may happen nevertheless. The error is an
// ErrUnsupported in other protocols; an ErrConflict where the last voter would go, or where too few of the remaining voters are
// heard; an ErrUnavailable where no member could say in time; an ErrSpace.
func (n *Node) Reform(ctx context.Context, space, member string, as protocol.Role) error {
	return n.member.Reform(ctx, space, member, as)
}

// Shards lists the voters of a space of protocol consensus, as this member knows them; spaces of other protocols have none. The
// error is an ErrUnavailable where this member was removed from the space, an ErrSpace, or the context's.
func (n *Node) Shards(ctx context.Context, space string) (*protocol.Shards, error) {
	return n.member.Shards(ctx, space)
}

// OpenSpace begins the space's instance at this member again, after a CloseSpace. Every space is open at first. A
// CloseSpace that is still waiting ends with an ErrConflict. The error is an ErrSpace, or the context's.
func (n *Node) OpenSpace(ctx context.Context, space string) error {
	return n.member.OpenSpace(ctx, space)
}

// CloseSpace ends the space's instance at this member, and returns when nothing of it is left. Requests that wait through this
// member end with ErrUnavailable, what is held through it is lost (MemberLost), and an authority that is here moves to
// another member. Other members keep the space. The end of ctx ends the waiting alone. The error is an ErrConflict where it
// is opened again meanwhile, an ErrLimit where too many calls wait for its end (it is being closed nevertheless), an ErrSpace,
// or the context's.
func (n *Node) CloseSpace(ctx context.Context, space string) error {
	return n.member.CloseSpace(ctx, space)
}

// SettleClaims closes the spaces of protocol claim, and returns when their stores have taken all that was released. The error names
// the first space where that was not so when ctx ended.
func (n *Node) SettleClaims(ctx context.Context) error { return n.member.SettleClaims(ctx) }
