package host

import (
	"context"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/protocol"
)

// newAdmin makes the service for operators' actions on whole spaces.
func (n *Member) newAdmin() (*admin.Service, error) {
	spaces := make([]admin.Space, len(n.config.Spaces))
	for i, space := range n.config.Spaces {
		spaces[i] = admin.Space{Name: space.Name, Protocol: space.Protocol}
	}
	return admin.New(admin.Config{Driver: n.driver, View: n.View, Spaces: spaces, Logger: n.logger})
}

// Transfer makes a member, given by its name or address, the authority of a space, and returns when it serves, or ctx
// ends: then the transfer may still happen. Holders and waiters are unaffected. The error is an ErrUnsupported if the
// space's protocol has no transfer; an ErrConflict if the view has no such member, or it has the space closed, or
// another became the authority meanwhile; an ErrUnavailable if no member decides; an ErrSpace.
func (n *Member) Transfer(ctx context.Context, space, member string) error {
	_, err := n.admin.Transfer(ctx, space, member)
	return ofSpace("transfer", space, err)
}

// BecomeGrantor makes this member the authority of a space, as Transfer does: its locks there cost no message from then
// on.
func (n *Member) BecomeGrantor(ctx context.Context, space string) error {
	return n.Transfer(ctx, space, n.Name())
}

// Reform changes a member's role in a space of protocol consensus, and returns when the change is made in all shards,
// or ctx ends: then it may still happen. A member first becomes a learner, which gets all earlier decisions, and then a
// voter; a nonmember may be switched off. The member is given by its name or address, and a voter outside the view by
// its former ones, or its id. The error is an ErrUnsupported in other protocols; an ErrConflict for an obstacle, such
// as the removal of the last voter, or too few reachable remaining voters; an ErrUnavailable if no member could answer
// in time; an ErrSpace.
func (n *Member) Reform(ctx context.Context, space, member string, as protocol.Role) error {
	return ofSpace("reform", space, n.admin.Reform(ctx, space, member, as))
}

// Shards lists the voters of a space of protocol consensus, as this member knows them; other protocols have none. The
// error is an ErrUnavailable if this member was removed from the space, an ErrSpace, or the context's.
func (n *Member) Shards(ctx context.Context, space string) (*protocol.Shards, error) {
	shards, err := n.admin.Shards(ctx, space)
	return shards, ofSpace("shards", space, err)
}

// Suspend stops new grants of a space at once, and returns when all locks have been released: none are held from then
// on, and none granted, until Resume through any member. It also ends when this member ends, or is cut off from the
// others until its lease has run out. Suspending a suspended space succeeds. If ctx ends first, grants continue, and
// the error is the context's. Others are an ErrUnavailable, an ErrUnsupported and an ErrSpace.
func (n *Member) Suspend(ctx context.Context, space, reason string) error {
	order := admin.Order{Space: space, Reason: reason, By: n.Name(), Wait: admin.Forever}
	err := holdfast.CheckText("reason", reason)
	if err == nil {
		_, err = n.admin.Suspend(ctx, order)
	}
	return ofSpace("suspend", space, err)
}

// Resume ends a space's suspension, regardless of which member made it: it breaks the suspension's lock, and grants
// resume when the holder has released that. Resuming a space that is not suspended is not an error. The error is an
// ErrUnavailable if no member decides, an ErrSpace, or the context's.
func (n *Member) Resume(ctx context.Context, space, reason string) error {
	err := holdfast.CheckText("reason", reason)
	if err == nil {
		_, err = n.admin.Resume(ctx, admin.Order{Space: space, Reason: reason, By: n.Name()})
	}
	return ofSpace("resume", space, err)
}

// OpenSpace starts the space's instance at this member again, after a CloseSpace. Every space is open at first; a
// caller that waits for one to close gets an ErrConflict. The error is an ErrSpace, or the context's.
func (n *Member) OpenSpace(ctx context.Context, space string) error {
	return ofSpace("open space", space, n.admin.OpenSpace(ctx, space))
}

// CloseSpace stops the space's instance at this member, and returns when nothing of it is left: a client that waits for
// a lock through this member gets ErrUnavailable, holds through it are lost (MemberLost), and an authority here is
// handed over. The space itself, and other members' part in it, are unaffected. The end of ctx ends only the wait. The
// error is an ErrConflict if it is opened again meanwhile, an ErrLimit if too many callers wait for its end (it is
// being closed nevertheless), an ErrSpace, or the context's.
func (n *Member) CloseSpace(ctx context.Context, space string) error {
	return ofSpace("close space", space, n.admin.CloseSpace(ctx, space))
}

func ofSpace(op, space string, err error) error {
	if err == nil {
		return nil
	}
	if space == "" {
		space = holdfast.DefaultSpace
	}
	return &holdfast.Error{Op: op, Space: space, Err: err}
}
