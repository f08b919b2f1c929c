package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// leaveLimit is the default time limit of a leave.
const leaveLimit = time.Minute

// Leave makes this member leave in an orderly way.
func (s *service) Leave(ctx context.Context, r *schema.LeaveRequest) (*schema.Left, error) {
	return s.depart(ctx, "leave", r.GetLimit(), leaveLimit, s.leaving)
}

// Drain makes this member leave once no lock is held through it.
func (s *service) Drain(ctx context.Context, r *schema.DrainRequest) (*schema.Left, error) {
	return s.depart(ctx, "drain", r.GetLimit(), 0, s.draining)
}

func (s *service) depart(ctx context.Context, op string, limit *durationpb.Duration, without time.Duration, act func(context.Context) error) (*schema.Left, error) {
	if act == nil {
		return nil, failed(op, "", "", api.Fail(api.CodeUnsupported, "this member is embedded in a program, which ends it"))
	}
	within, err := atLeast("limit", limit, 0)
	if err != nil {
		return nil, failed(op, "", "", err)
	}
	if within == 0 {
		within = without
	}
	return &schema.Left{}, s.do(ctx, op, within, act)
}

// do runs act within limit, 0 for none. It continues if its caller leaves.
func (s *service) do(ctx context.Context, op string, limit time.Duration, act func(context.Context) error) error {
	done := make(chan error, 1)
	s.background.Go(func() {
		acting := s.life
		if limit > 0 {
			within, cancel := context.WithTimeout(acting, limit)
			defer cancel()
			acting = within
		}
		done <- act(acting)
	})
	select {
	case err := <-done:
		return failed(op, "", "", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}
