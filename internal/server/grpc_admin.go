package server

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// grpcAdmin is the service for the operators of this member.
type grpcAdmin struct {
	schema.UnimplementedAdminServer
	service      *service
	leave, drain func(context.Context) error
	ending       context.Context
	work         *sync.WaitGroup
}

// leaveLimit is how long a leave may take where its caller does not say.
const leaveLimit = time.Minute

// Leave lets this member leave in good order.
func (a *grpcAdmin) Leave(ctx context.Context, r *schema.LeaveRequest) (*schema.LeaveResponse, error) {
	limit := time.Duration(r.GetLimit())
	if limit == 0 {
		limit = leaveLimit
	}
	return &schema.LeaveResponse{}, a.do(ctx, "leave", limit, a.leave)
}

// Drain lets this member leave when nothing is held through it.
func (a *grpcAdmin) Drain(ctx context.Context, r *schema.DrainRequest) (*schema.DrainResponse, error) {
	return &schema.DrainResponse{}, a.do(ctx, "drain", time.Duration(r.GetLimit()), a.drain)
}

// do does it within limit, 0 being none. Who has asked may go before it is done.
func (a *grpcAdmin) do(ctx context.Context, op string, limit time.Duration, act func(context.Context) error) error {
	switch {
	case act == nil:
		return api.ToStatus(failed(op, "", "", api.Fail(api.CodeUnsupported, "this member is embedded in a program, which ends it")))
	case limit < 0:
		return api.ToStatus(failed(op, "", "", api.Fail(api.CodeBadRequest, "limit: want 0 or more")))
	}
	done := make(chan error, 1)
	a.work.Go(func() {
		acting, cancel := context.WithCancel(context.Background())
		if limit > 0 {
			acting, cancel = context.WithTimeout(acting, limit)
		}
		defer cancel()
		defer context.AfterFunc(a.ending, cancel)()
		done <- act(acting)
	})
	select {
	case err := <-done:
		if err != nil {
			return api.ToStatus(failed(op, "", "", err))
		}
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// PlanForce tells what a forced view would be.
func (a *grpcAdmin) PlanForce(ctx context.Context, r *schema.PlanForceRequest) (*schema.JSON, error) {
	return answerJSON(a.service.planForce(ctx, r.GetMembers()))
}

// ForceView makes a view without a quorum. Who has asked may go before it is done.
func (a *grpcAdmin) ForceView(ctx context.Context, r *schema.ForceViewRequest) (*schema.JSON, error) {
	order := api.ForceView{Members: r.GetMembers(), Reason: r.GetReason(), By: callerOf(ctx).called(r.GetBy()), Confirm: r.GetConfirm()}
	var forced *api.ForcedView
	err := a.do(ctx, opForce, leaveLimit, func(ctx context.Context) (err error) {
		forced, err = a.service.forceView(ctx, order)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answerJSON(forced, nil)
}

// closeLimit is for how long another member is still told what has happened here, when
// the server ends.
const closeLimit = time.Second

// endMembers ends the streams of other members with the server: they have no end of
// their own, and those members look for this one elsewhere or not at all. Those of events
// end by themselves, when the last was told.
func (g *grpcServer) endMembers(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !ofMembers(info.FullMethod) {
		return handler(server, stream)
	}
	done := make(chan error, 1)
	g.work.Go(func() { done <- g.recoverStream(server, stream, info, handler) })
	select {
	case err := <-done:
		return err
	case <-g.ending.Done():
	}
	if info.FullMethod == schema.Members_Events_FullMethodName {
		slow := time.NewTimer(closeLimit)
		defer slow.Stop()
		select {
		case err := <-done:
			return err
		case <-slow.C:
		}
	}
	return status.Error(codes.Unavailable, "this member is leaving")
}
