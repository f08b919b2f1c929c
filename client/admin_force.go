package client

import (
	"cmp"
	"context"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// opForce names the operation in errors.
const opForce = "force-view"

// PlanForce asks the member at the first address what a view of the named founders
// alone would be, where a quorum is lost for good. It changes nothing. The error says
// why that view cannot be forced.
func (a *Admin) PlanForce(ctx context.Context, members []string) (*ForcePlan, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).PlanForce(ctx, &schema.PlanForceRequest{Members: members})
	if err != nil {
		return nil, a.explain(opForce, err)
	}
	return answer, nil
}

// ForceView lets the member at the first address make the view that PlanForce has shown,
// whose code is in Confirm, and returns when it is installed. By "" means the name of
// this program. If the founders that are not named are alive with a quorum of their own,
// two clients may hold one lock from then on.
func (a *Admin) ForceView(ctx context.Context, order *ForceView) (*ForcedView, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).ForceView(ctx, &schema.ForceViewRequest{
		Members: order.GetMembers(), Reason: order.GetReason(), By: cmp.Or(order.GetBy(), a.settings.name), Confirm: order.GetConfirm(),
	})
	if err != nil {
		return nil, a.explain(opForce, err)
	}
	return answer, nil
}
