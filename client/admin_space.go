package client

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// The names of operators' deeds on whole spaces in errors.
const (
	opTransfer   = "transfer"
	opReform     = "reform"
	opShards     = "shards"
	opSuspend    = "suspend"
	opResume     = "resume"
	opOpenSpace  = "open"
	opCloseSpace = "close"
)

// Suspension is the request of Admin.Suspend.
type Suspension struct {
	Reason string // for people
	By     string // who does it; "" means the name of this program
	// Wait is how long what is held is waited for; 0 means not at all, and less than 0
	// until the call ends.
	Wait time.Duration
}

// Transfer makes a member, given by its name or address, the authority of a space, where
// the space's protocol hands that over, and returns when it serves. The error is an
// ErrUnsupported, an ErrConflict where there is no such member or it cannot be the
// authority, or an ErrUnavailable.
func (a *Admin) Transfer(ctx context.Context, space, member string) (*Transferred, error) {
	return onSpace(ctx, a, opTransfer, &schema.TransferRequest{
		Space: a.space(space), Member: member, By: a.settings.name,
	}, schema.AdminClient.Transfer)
}

// Reform changes what a member is in a space whose members vote (protocol consensus), and returns when all its shards
// have it: "learner" has all that is decided and no vote, "voter" is one that has all and votes, "none" takes no part, and may be
// switched off. The member is given by its name, its address or, where it has left the view, its id. The error is an
// ErrUnsupported where members do not vote, an ErrConflict that says what stands against it, or an ErrUnavailable; after the
// latter it may be done nevertheless.
func (a *Admin) Reform(ctx context.Context, space, member, as string) (*Shards, error) {
	return onSpace(ctx, a, opReform, &schema.ReformRequest{Space: a.space(space), Member: member, As: as, By: a.settings.name}, schema.AdminClient.Reform)
}

// Shards tells who votes in a space, as the first member that can be reached knows it: no shards in a space without votes. The error
// is an ErrUnavailable where that one was removed from the space.
func (a *Admin) Shards(ctx context.Context, space string) (*Shards, error) {
	return onSpace(ctx, a, opShards, &schema.ShardsRequest{Space: a.space(space)}, schema.AdminClient.Shards)
}

// Suspend stops new grants of a space at once, and returns when all that is held has been
// released. It lasts until Resume, or until the member that was asked ends, which is the
// first that can be reached. A space that an operator has suspended already is suspended.
// The error is an ErrHeld where something was held for longer than the wait: then grants go
// on.
func (a *Admin) Suspend(ctx context.Context, space string, s Suspension) (*Suspended, error) {
	question := &schema.SuspendRequest{Space: a.space(space), Reason: s.Reason, By: cmp.Or(s.By, a.settings.name)}
	if s.Wait >= 0 {
		question.Wait = api.Span(s.Wait)
	}
	return onSpace(ctx, a, opSuspend, question, schema.AdminClient.Suspend)
}

// Resume lets a space grant again, regardless of which caller has suspended it and through
// which member. The answer says whether it was suspended. By "" means the name of this
// program.
func (a *Admin) Resume(ctx context.Context, space, reason, by string) (*Suspended, error) {
	return onSpace(ctx, a, opResume, &schema.ResumeRequest{
		Space: a.space(space), Reason: reason, By: cmp.Or(by, a.settings.name),
	}, schema.AdminClient.Resume)
}

// OpenSpace begins a space's instance at the member at the first address again.
func (a *Admin) OpenSpace(ctx context.Context, space string) (*Opened, error) {
	opened, err := schema.NewAdminClient(a.members[0].conn).OpenSpace(ctx, &schema.OpenSpaceRequest{Space: a.space(space), By: a.settings.name})
	if err != nil {
		return nil, a.explain(opOpenSpace, err)
	}
	return opened, nil
}

// CloseSpace ends a space's instance at the member at the first address: what its clients
// wait for there is refused, what they hold is taken from them, and nothing new is granted
// through it. It returns when nothing of the member's is left in the space; the end of ctx
// ends the waiting alone.
func (a *Admin) CloseSpace(ctx context.Context, space string) (*Opened, error) {
	opened, err := schema.NewAdminClient(a.members[0].conn).CloseSpace(ctx, &schema.CloseSpaceRequest{Space: a.space(space), By: a.settings.name})
	if err != nil {
		return nil, a.explain(opCloseSpace, err)
	}
	return opened, nil
}

// onSpace asks the first member that can be reached for a deed.
func onSpace[A, Q any](ctx context.Context, a *Admin, op string, question *Q,
	ask func(schema.AdminClient, context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	return reach(ctx, a, op, false, func(conn *grpc.ClientConn) (*A, error) {
		return ask(schema.NewAdminClient(conn), ctx, question)
	})
}
