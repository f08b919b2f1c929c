package host

import (
	"context"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/protocol"
)

// newAdmin makes what operators' deeds on whole spaces are done with.
func (n *Member) newAdmin() (*admin.Service, error) {
	spaces := make([]admin.Space, len(n.config.Spaces))
	for i, space := range n.config.Spaces {
		spaces[i] = admin.Space{Name: space.Name, Protocol: space.Protocol}
	}
	return admin.New(admin.Config{Driver: n.driver, View: n.View, Spaces: spaces, Logger: n.logger})
}

// Transfer makes a member, given by its name or address, the authority of a space, and
// returns when that serves, or ctx ends: then it may be done nevertheless. Holders and
// waiters stay as they are. The error is an ErrUnsupported where the space's protocol hands
// nothing over; an ErrConflict where the view has no such member, or that has the space
// closed, or another was made the authority meanwhile; an ErrUnavailable where no member
// decides; an ErrSpace.
func (n *Member) Transfer(ctx context.Context, space, member string) error {
	_, err := n.admin.Transfer(ctx, space, member)
	return ofSpace("transfer", space, err)
}

// BecomeGrantor makes this member the authority of a space, as Transfer does: what it locks
// there costs no message from then on.
func (n *Member) BecomeGrantor(ctx context.Context, space string) error {
	return n.Transfer(ctx, space, n.Name())
}

// Reform changes what a member is in a space of protocol consensus, and returns when it is so in all shards, or ctx ends: then
// it may be done nevertheless. A member is made a learner first, which gets all that was decided, and a voter when it has that;
// a nonmember may be switched off. The member is given by its name or address, and one that votes and is not in the view any
// more by those it had, or its id. The error is an ErrUnsupported in other protocols; an ErrConflict where something stands
// against it, as that the last voter would go, or too few of the remaining voters are heard; an ErrUnavailable where no member
// could say in time; an ErrSpace.
func (n *Member) Reform(ctx context.Context, space, member string, as protocol.Role) error {
	return ofSpace("reform", space, n.admin.Reform(ctx, space, member, as))
}

// Shards lists the voters of a space of protocol consensus, as this member knows them; other protocols have none. The
// error is an ErrUnavailable where this member was removed from the space, an ErrSpace, or the context's.
func (n *Member) Shards(ctx context.Context, space string) (*protocol.Shards, error) {
	shards, err := n.admin.Shards(ctx, space)
	return shards, ofSpace("shards", space, err)
}

// Suspend stops new grants of a space at once, and returns when all that is held has been
// released: nothing is held from then on, and nothing granted, until Resume through whichever
// member. It ends as well when this member does, or is cut off from the others until its
// lease has run out. A space that an operator has suspended already is suspended. When ctx
// ends before, grants go on, and the error is the context's. Others are an ErrUnavailable,
// an ErrUnsupported and an ErrSpace.
func (n *Member) Suspend(ctx context.Context, space, reason string) error {
	order := admin.Order{Space: space, Reason: reason, By: n.Name(), Wait: admin.Forever}
	err := holdfast.CheckText("reason", reason)
	if err == nil {
		_, err = n.admin.Suspend(ctx, order)
	}
	return ofSpace("suspend", space, err)
}

// Resume lets a space grant again, regardless of which member has suspended it: it breaks the
// suspension's lock, and grants go on when the holder has given that up. A
// space that is not suspended is no error. The error is an ErrUnavailable where no member
// decides, an ErrSpace, or the context's.
func (n *Member) Resume(ctx context.Context, space, reason string) error {
	err := holdfast.CheckText("reason", reason)
	if err == nil {
		_, err = n.admin.Resume(ctx, admin.Order{Space: space, Reason: reason, By: n.Name()})
	}
	return ofSpace("resume", space, err)
}

// OpenSpace begins the space's instance at this member again, after a CloseSpace. Every
// space is open at first; a caller that waits for one to be closed gets an ErrConflict. The error is
// an ErrSpace, or the context's.
func (n *Member) OpenSpace(ctx context.Context, space string) error {
	return ofSpace("open space", space, n.admin.OpenSpace(ctx, space))
}

// CloseSpace ends the space's instance at this member, and returns when nothing of it is
// left: a client that waits for a lock through this member gets ErrUnavailable, what is held
// through it is lost (MemberLost), and an authority that is here is handed over. What the
// space is, and what other members have in it, does not change. The end of ctx ends the
// waiting alone. The error is an ErrConflict where it is opened again meanwhile, an ErrLimit
// where too many wait for its end (it is being closed nevertheless), an ErrSpace, or the
// context's.
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
