package node

import (
	"context"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Break takes a name from its holders on behalf of an operator: each of them loses its lock, and the name is free when
// each has stopped. The error is ErrNotHeld if no client holds the name, and ErrHeld, with the former holder and the
// end of its grace, if the name is kept after a hold limit.
func (n *Node) Break(ctx context.Context, space, name, reason string) error {
	return n.member.Break(ctx, space, name, reason)
}

// Suspend stops new grants of a space at once, and returns when all held locks are released. From then on no member
// grants anything until Resume. The suspension also ends with this member, and with its lease. A space that is already
// suspended stays so. If ctx ends first, grants resume, and the error is the context's. Other errors are an
// ErrUnavailable, an ErrUnsupported and an ErrSpace.
func (n *Node) Suspend(ctx context.Context, space, reason string) error {
	return n.member.Suspend(ctx, space, reason)
}

// Resume lets a space grant again, no matter through which member it was suspended. It is no error if the space is not
// suspended. The error is an ErrUnavailable if no member decides, an ErrSpace, or the context's.
func (n *Node) Resume(ctx context.Context, space, reason string) error {
	return n.member.Resume(ctx, space, reason)
}

// Transfer makes a member, given by its name or address, the authority of a space, and returns when that member serves.
// Held locks and waiting requests are kept. If ctx ends first, the transfer may still happen. The error is an
// ErrUnsupported if the protocol does not transfer authority; an ErrConflict if the view has no such member, the member
// has closed the space, or another one became the authority in the meantime; an ErrUnavailable if no member decides; an
// ErrSpace.
func (n *Node) Transfer(ctx context.Context, space, member string) error {
	return n.member.Transfer(ctx, space, member)
}

// BecomeGrantor makes this member the authority of a space, as Transfer does: its own locks there then cost no message.
func (n *Node) BecomeGrantor(ctx context.Context, space string) error {
	return n.member.BecomeGrantor(ctx, space)
}

// Reform changes a member's role in a space of protocol consensus, and returns when the change is applied in all
// shards. A member becomes a learner first, which receives all decisions, and then a voter. The member is given by its
// name or address, and a voter that has left the view also by its id. If ctx ends first, the change may still happen.
// The error is an ErrUnsupported in other protocols; an ErrConflict if the last voter would go, or if too few of the
// remaining voters are heard; an ErrUnavailable if no member could say in time; an ErrSpace.
func (n *Node) Reform(ctx context.Context, space, member string, as protocol.Role) error {
	return n.member.Reform(ctx, space, member, as)
}

// Shards returns the voters of a space of protocol consensus, as this member knows them; spaces of other protocols have
// none. The error is an ErrUnavailable if this member was removed from the space, an ErrSpace, or the context's.
func (n *Node) Shards(ctx context.Context, space string) (*protocol.Shards, error) {
	return n.member.Shards(ctx, space)
}

// OpenSpace restarts the space's instance at this member, after a CloseSpace. Every space is open at first. A
// CloseSpace that is still waiting ends with an ErrConflict. The error is an ErrSpace, or the context's.
func (n *Node) OpenSpace(ctx context.Context, space string) error {
	return n.member.OpenSpace(ctx, space)
}

// CloseSpace ends the space's instance at this member, and returns when nothing of it is left. Requests that wait
// through this member end with ErrUnavailable, locks held through it are lost (MemberLost), and an authority here moves
// to another member. Other members keep the space. The end of ctx ends only the wait. The error is an ErrConflict if
// the space is reopened in the meantime, an ErrLimit if too many calls wait for its end (it still closes), an ErrSpace,
// or the context's.
func (n *Node) CloseSpace(ctx context.Context, space string) error {
	return n.member.CloseSpace(ctx, space)
}

// SettleClaims closes the spaces of protocol claim, and returns when their stores have accepted all releases. The error
// names the first space that was not settled when ctx ended.
func (n *Node) SettleClaims(ctx context.Context) error { return n.member.SettleClaims(ctx) }
