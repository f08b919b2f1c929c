package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// opForce names the operation in errors and metrics.
const opForce = "force-view"

// mostNamed is how many founders a view that is forced may have.
const mostNamed = 1000

// planForce tells what a forced view would be. It changes nothing.
func (s *service) planForce(ctx context.Context, members []string) (plan *api.ForcePlan, err error) {
	defer func() { s.observer.operation("", "plan-force", err) }()
	if err := s.checkForce(members); err != nil {
		return nil, failed(opForce, "", "", err)
	}
	plan, err = s.forcer.PlanForce(ctx, members)
	if err != nil {
		return nil, failed(opForce, "", "", err)
	}
	s.logger.Info("asked what a forced view would be", "members", []string(plan.Named), "replaces", plan.View)
	return plan, nil
}

// forceView makes the view that was planned. The forcer has it in its log.
func (s *service) forceView(ctx context.Context, order api.ForceView) (forced *api.ForcedView, err error) {
	defer func() { s.observer.operation("", opForce, err) }()
	if err := s.checkOrder(order); err != nil {
		return nil, err
	}
	forced, err = s.forcer.Force(ctx, order)
	if err != nil {
		return nil, err
	}
	s.observer.source.Publish(api.Event{Event: events.View, Why: fmt.Sprintf("view %d: %s; forced by %s in the place of view %d: %s",
		forced.View, strings.Join(forced.Members, ", "), forced.By, forced.Replaced, forced.Reason)})
	return forced, nil
}

func (s *service) checkOrder(order api.ForceView) error {
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
