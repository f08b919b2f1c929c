package host

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Force makes a view of just the named founders, including this member, without its permanently lost quorum, and
// returns when it is installed (docs/design/membership.md §5). It grants after all earlier promises have run out. The
// code in Confirm is from PlanForce: the view is not forced unless that plan still holds. If the founders that are not
// named are alive with a quorum of their own, two clients may hold one lock; only the caller can know whether they are.
// Every member that joins the view or learns of it logs the order, its operator and its reason, and Forced reports it
// there.
//
// The error is as for PlanForce; an ErrConflict for a wrong code; or an ErrUnavailable if a named member did not
// answer: then the view is unchanged, unless ctx ended before that was known.
func (n *Member) Force(ctx context.Context, order *schema.ForceViewRequest) (*schema.ForcedView, error) {
	if !n.forcing.TryLock() {
		return nil, api.Fail(api.CodeConflict, "another call forces a view through this member now; ask again when it has ended")
	}
	defer n.forcing.Unlock()
	if order.Reason == "" {
		return nil, api.Fail(api.CodeBadRequest, "reason: it is missing; say why the view is forced")
	}
	plan, err := n.PlanForce(ctx, order.Members)
	if err != nil {
		return nil, err
	}
	if order.Confirm != plan.Code {
		return nil, api.Fail(api.CodeConflict, fmt.Sprintf(
			"confirm %q does not fit what is known now: view %d, to be replaced by one of %s; ask again without it, and read what has changed",
			order.Confirm, plan.View, protocol.JoinNames(plan.Named)))
	}
	forced := &schema.ForcedView{
		Replaced: plan.View, Members: plan.Named, Reason: order.Reason, By: order.By, Time: api.Stamp(time.Now()), Spaces: plan.Spaces,
	}
	log := n.logger.With("members", plan.Named, "reason", order.Reason, "by", order.By)
	log.Warn("an operator forces a view", "replaces", plan.View, "without", plan.Rivals)
	self, err := n.force(ctx, plan, order)
	if err != nil {
		log.Warn("the view was not forced", "replaces", plan.View, "error", err)
		return nil, err
	}
	forced.View, forced.Members = self.Cell.Accepted.Number, n.places(self, isFounder)
	if self.Until != protocol.Never {
		forced.From = api.Stamp(n.driver.Wall(self.Until))
	}
	log.Warn("a view was forced", "view", forced.View, "replaces", plan.View, "has", forced.Members, "grants_from", api.At(api.TimeOf(forced.From)))
	n.change(func() { n.forced = forced })
	return forced, nil
}

// noteOrder records a view forced through another member: a member that joins it, or is left out and learns of it, logs
// it, and Forced reports it. It runs under the driver's mutex.
func (n *Member) noteOrder(note membership.Ordered) {
	if note.Here {
		return // Force reports it when it is done
	}
	v := note.View
	forced := &schema.ForcedView{
		View: v.Number, Replaced: v.Number - 1, Reason: v.Order.Reason, By: v.Order.By, Time: api.Stamp(time.Now()),
	}
	for _, member := range v.Members {
		if member.Founder {
			forced.Members = append(forced.Members, member.Name)
		}
	}
	n.logger.Warn("an operator has forced a view through another member",
		"view", v.Number, "epoch", v.Epoch.Counter, "members", forced.Members, "reason", forced.Reason, "by", forced.By)
	n.change(func() { n.forced = forced })
}

// Forced returns the latest forced view that this member has made, joined or learned of in this life; nil if there is
// none.
func (n *Member) Forced() *schema.ForcedView {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.forced
}

// force makes the membership do it, and returns its answer when the view is installed.
func (n *Member) force(ctx context.Context, plan *schema.ForcePlan, order *schema.ForceViewRequest) (*membership.Self, error) {
	wall := time.Duration(time.Now().UnixNano())
	reply, err := n.driver.Do(ctx, protocol.Below, &membership.Force{Members: plan.Named, Reason: order.Reason, By: order.By, Wall: wall})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: not all of %s have answered yet, and view %d may yet be replaced; look at the status before anything else",
			holdfast.ErrUnavailable, protocol.JoinNames(plan.Named), plan.View)
	case err != nil:
		return nil, fmt.Errorf("ask the membership: %w", closedOr(err))
	}
	switch forced := reply.Result.(*membership.Forced); {
	case forced.Silent != nil:
		return nil, fmt.Errorf("%w: %s did not promise to follow this member; view %d is as it was: check that they run and can be reached, or leave them out",
			holdfast.ErrUnavailable, protocol.JoinNames(forced.Silent), plan.View)
	case forced.Err != nil:
		return nil, fmt.Errorf("%w: %w", holdfast.ErrConflict, forced.Err)
	}
	return n.Who(ctx)
}
