package client

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// The names of operations on whole spaces in errors.
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
	Reason string // for display
	By     string // the operator; "" means the name of this program
	// Wait is how long Suspend waits for held locks; 0 means not at all, and less than 0 until the call ends.
	Wait time.Duration
}

// Transfer makes a member, given by its name or address, the authority of a space, and returns when it serves. The
// error is an ErrUnsupported if the space's protocol does not transfer authority, an ErrConflict if the member does not
// exist or cannot be the authority, or an ErrUnavailable.
func (a *Admin) Transfer(ctx context.Context, space, member string) (*Transferred, error) {
	return anywhere(ctx, a, opTransfer, &schema.TransferRequest{
		Space: a.space(space), Member: member, By: a.settings.name,
	}, schema.AdminClient.Transfer)
}

// Reform changes a member's role in a space whose members vote (protocol consensus), and returns when all its shards
// have applied the change: "learner" receives all decisions and has no vote, "voter" has all decisions and votes,
// "none" has no role and may be switched off. The member is given by its name, its address or, if it has left the view,
// its id. The error is an ErrUnsupported if members do not vote, an ErrConflict that names the obstacle, or an
// ErrUnavailable; after an ErrUnavailable the change may still happen.
func (a *Admin) Reform(ctx context.Context, space, member, as string) (*Shards, error) {
	return anywhere(ctx, a, opReform, &schema.ReformRequest{Space: a.space(space), Member: member, As: as, By: a.settings.name}, schema.AdminClient.Reform)
}

// Shards returns the voters of a space, as known by the first reachable member: no shards in a space without votes. The
// error is an ErrUnavailable if that member was removed from the space.
func (a *Admin) Shards(ctx context.Context, space string) (*Shards, error) {
	return anywhere(ctx, a, opShards, &schema.ShardsRequest{Space: a.space(space)}, schema.AdminClient.Shards)
}

// Suspend stops new grants of a space at once, and returns when all held locks have been released. The suspension lasts
// until Resume, or until the member that handled the call, the first reachable one, ends. A space that is already
// suspended stays so. The error is an ErrHeld if something was held for longer than the wait: then grants resume.
func (a *Admin) Suspend(ctx context.Context, space string, s Suspension) (*Suspended, error) {
	question := &schema.SuspendRequest{Space: a.space(space), Reason: s.Reason, By: cmp.Or(s.By, a.settings.name)}
	if s.Wait >= 0 {
		question.Wait = api.Span(s.Wait)
	}
	return anywhere(ctx, a, opSuspend, question, schema.AdminClient.Suspend)
}

// Resume lets a space grant again, no matter which caller suspended it and through which member. The answer reports
// whether it was suspended. By "" means the name of this program.
func (a *Admin) Resume(ctx context.Context, space, reason, by string) (*Suspended, error) {
	return anywhere(ctx, a, opResume, &schema.ResumeRequest{
		Space: a.space(space), Reason: reason, By: cmp.Or(by, a.settings.name),
	}, schema.AdminClient.Resume)
}

// OpenSpace restarts a space's instance at the member at the first address.
func (a *Admin) OpenSpace(ctx context.Context, space string) (*Opened, error) {
	opened, err := schema.NewAdminClient(a.members[0].conn).OpenSpace(ctx, &schema.OpenSpaceRequest{Space: a.space(space), By: a.settings.name})
	if err != nil {
		return nil, a.explain(opOpenSpace, err)
	}
	return opened, nil
}

// CloseSpace ends a space's instance at the member at the first address: it refuses its clients' waiting requests,
// revokes their locks, and grants nothing new through that member. It returns when the member has nothing left in the
// space; the end of ctx ends only the wait.
func (a *Admin) CloseSpace(ctx context.Context, space string) (*Opened, error) {
	opened, err := schema.NewAdminClient(a.members[0].conn).CloseSpace(ctx, &schema.CloseSpaceRequest{Space: a.space(space), By: a.settings.name})
	if err != nil {
		return nil, a.explain(opCloseSpace, err)
	}
	return opened, nil
}

// anywhere makes a call of operators at the first reachable member.
func anywhere[A, Q any](ctx context.Context, a *Admin, op string, question *Q,
	ask func(schema.AdminClient, context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	return reach(ctx, a, op, false, func(conn *grpc.ClientConn) (*A, error) {
		return ask(schema.NewAdminClient(conn), ctx, question)
	})
}
