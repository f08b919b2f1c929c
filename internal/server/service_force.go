package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// opForce names the operation in errors and metrics.
const opForce = "force-view"

// mostNamed is the maximum number of founders of a forced view.
const mostNamed = 1000

// PlanForce returns the outcome of a forced view. It changes nothing.
func (s *service) PlanForce(ctx context.Context, r *schema.PlanForceRequest) (plan *schema.ForcePlan, err error) {
	members := r.GetMembers()
	defer func() { s.observer.operation("", "plan-force", err) }()
	if err := s.checkForce(members); err != nil {
		return nil, failed(opForce, "", "", err)
	}
	plan, err = s.forcer.PlanForce(ctx, members)
	if err != nil {
		return nil, failed(opForce, "", "", err)
	}
	s.logger.Info("asked what a forced view would be", "members", plan.GetNamed(), "replaces", plan.GetView())
	return plan, nil
}

// ForceView makes a view without a quorum. It continues if its caller leaves.
func (s *service) ForceView(ctx context.Context, r *schema.ForceViewRequest) (forced *schema.ForcedView, err error) {
	order := proto.CloneOf(r)
	order.By = callerOf(ctx).actor(r.GetBy())
	err = s.do(ctx, opForce, leaveLimit, func(ctx context.Context) (err error) {
		forced, err = s.forceView(ctx, order)
		return err
	})
	if err != nil {
		return nil, err // forced is still being written if the call has ended
	}
	return forced, nil
}

// forceView makes the planned view. The forcer logs it.
func (s *service) forceView(ctx context.Context, order *schema.ForceViewRequest) (forced *schema.ForcedView, err error) {
	defer func() { s.observer.operation("", opForce, err) }()
	if err := s.checkOrder(order); err != nil {
		return nil, err
	}
	forced, err = s.forcer.Force(ctx, order)
	if err != nil {
		return nil, err
	}
	s.observer.source.Publish(&schema.WatchEvent{Event: events.View, Why: fmt.Sprintf("view %d: %s; forced by %s in the place of view %d: %s",
		forced.View, strings.Join(forced.Members, ", "), forced.By, forced.Replaced, forced.Reason)})
	return forced, nil
}

func (s *service) checkOrder(order *schema.ForceViewRequest) error {
	if err := s.checkForce(order.Members); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(order.Reason) == "":
		return api.Fail(api.CodeBadRequest, "reason: it is missing; say why the view is forced")
	case order.Confirm == "":
		return api.Fail(api.CodeBadRequest, "confirm: it is missing; PlanForce tells the code")
	}
	return cmp.Or(holdfast.CheckText("reason", order.Reason), holdfast.CheckText("by", order.By), holdfast.CheckText("confirm", order.Confirm))
}

func (s *service) checkForce(members []string) error {
	switch {
	case s.forcer == nil:
		return api.Fail(api.CodeUnsupported, "this member is embedded in a program, which forces views itself")
	case len(members) == 0 || len(members) > mostNamed:
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("members: %d are named; name 1 to %d, this one among them", len(members), mostNamed))
	}
	for _, name := range members {
		if err := holdfast.CheckText("members", name); err != nil {
			return err
		}
	}
	return nil
}
