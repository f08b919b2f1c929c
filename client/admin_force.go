package client

import (
	"cmp"
	"context"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// opForce is the name of the operation in errors.
const opForce = "force-view"

// PlanForce returns the view that the member at the first address would form from the named founders alone, after the
// permanent loss of a quorum. It changes nothing. The error says why that view cannot be forced.
func (a *Admin) PlanForce(ctx context.Context, members []string) (*ForcePlan, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).PlanForce(ctx, &schema.PlanForceRequest{Members: members})
	if err != nil {
		return nil, a.explain(opForce, err)
	}
	return answer, nil
}

// ForceView makes the member at the first address form the view that PlanForce returned, whose code is in Confirm, and
// returns when the view is installed. By "" means the name of this program. If the unnamed founders are alive with a
// quorum of their own, two clients may hold one lock from then on.
func (a *Admin) ForceView(ctx context.Context, order *ForceView) (*ForcedView, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).ForceView(ctx, &schema.ForceViewRequest{
		Members: order.GetMembers(), Reason: order.GetReason(), By: cmp.Or(order.GetBy(), a.settings.name), Confirm: order.GetConfirm(),
	})
	if err != nil {
		return nil, a.explain(opForce, err)
	}
	return answer, nil
}
