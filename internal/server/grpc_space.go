package server

import (
	"context"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
)

// Transfer makes a member the authority of a space.
func (a *grpcAdmin) Transfer(ctx context.Context, r *schema.TransferRequest) (*schema.JSON, error) {
	return answerJSON(a.service.transfer(ctx, spaceInput{
		Space: r.GetSpace(), Member: r.GetMember(), By: callerOf(ctx).called(r.GetBy()),
	}))
}

// Reform changes what a member is in a space whose members vote.
func (a *grpcAdmin) Reform(ctx context.Context, r *schema.ReformRequest) (*schema.JSON, error) {
	return answerJSON(a.service.reform(ctx, spaceInput{
		Space: r.GetSpace(), Member: r.GetMember(), As: r.GetAs(), By: callerOf(ctx).called(r.GetBy()),
	}))
}

// Shards tells who votes in a space.
func (a *grpcAdmin) Shards(ctx context.Context, r *schema.ShardsRequest) (*schema.JSON, error) {
	return answerJSON(a.service.shards(ctx, r.GetSpace()))
}

// Suspend stops new grants of a space. The end of the call before it is answered takes it
// back.
func (a *grpcAdmin) Suspend(ctx context.Context, r *schema.SuspendRequest) (*schema.JSON, error) {
	in := spaceInput{Space: r.GetSpace(), Reason: r.GetReason(), Wait: admin.Forever, By: callerOf(ctx).called(r.GetBy())}
	if r.Wait != nil {
		in.Wait = time.Duration(r.GetWait())
	}
	return answerJSON(a.service.suspend(ctx, in))
}

// Resume lets a space grant again.
func (a *grpcAdmin) Resume(ctx context.Context, r *schema.ResumeRequest) (*schema.JSON, error) {
	return answerJSON(a.service.resume(ctx, spaceInput{
		Space: r.GetSpace(), Reason: r.GetReason(), By: callerOf(ctx).called(r.GetBy()),
	}))
}

// OpenSpace begins a space's instance at this member again.
func (a *grpcAdmin) OpenSpace(ctx context.Context, r *schema.OpenSpaceRequest) (*schema.JSON, error) {
	return answerJSON(a.service.openSpace(ctx, spaceInput{Space: r.GetSpace(), By: callerOf(ctx).called(r.GetBy())}))
}

// CloseSpace ends a space's instance at this member.
func (a *grpcAdmin) CloseSpace(ctx context.Context, r *schema.CloseSpaceRequest) (*schema.JSON, error) {
	return answerJSON(a.service.closeSpace(ctx, spaceInput{Space: r.GetSpace(), By: callerOf(ctx).called(r.GetBy())}))
}
