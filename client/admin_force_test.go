package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// survivor answers an operator's calls from what it was given.
type survivor struct {
	schema.UnimplementedAdminServer
	order *schema.ForceViewRequest
	err   error
}

func (s *survivor) PlanForce(_ context.Context, q *schema.PlanForceRequest) (*schema.ForcePlan, error) {
	return &schema.ForcePlan{Member: "a", View: 7, Named: q.GetMembers()[:1], Wait: api.Span(3 * time.Second), Code: "0123abcd"}, api.ToStatus(s.err)
}

func (s *survivor) ForceView(_ context.Context, q *schema.ForceViewRequest) (*schema.ForcedView, error) {
	s.order = q
	return &schema.ForcedView{View: 8, Replaced: 7, Members: []string{"a"}, By: "me"}, api.ToStatus(s.err)
}

// TestForceView: the first address is asked, and no other.
func TestForceView(t *testing.T) {
	one := &survivor{}
	address := serveAdmin(t, one)
	admin, err := DialAdmin(address+",127.0.0.1:1", Name("me"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	plan, err := admin.PlanForce(t.Context(), []string{"a"})
	if err != nil || plan.View != 7 || plan.Named[0] != "a" || plan.Code != "0123abcd" || plan.Wait.AsDuration() != 3*time.Second {
		t.Errorf("plan %+v, %v", plan, err)
	}
	forced, err := admin.ForceView(t.Context(), &schema.ForceViewRequest{Members: plan.Named, Reason: "fire", Confirm: plan.Code})
	if err != nil || forced.View != 8 || forced.Replaced != 7 {
		t.Errorf("forced %+v, %v", forced, err)
	}
	if q := one.order; q.GetBy() != "me" || q.GetReason() != "fire" || q.GetConfirm() != "0123abcd" || q.GetMembers()[0] != "a" {
		t.Errorf("ordered %v", q)
	}
	one.err = api.Fail(api.CodeConflict, "nothing need be forced")
	if _, err := admin.ForceView(t.Context(), &schema.ForceViewRequest{Members: plan.Named, By: "ops"}); !errors.Is(err, holdfast.ErrConflict) || one.order.GetBy() != "ops" {
		t.Errorf("by %q: %v", one.order.GetBy(), err)
	}
	if _, err := admin.PlanForce(t.Context(), []string{"a"}); err == nil || err.Error() != "force-view: nothing need be forced" {
		t.Errorf("got %v", err)
	}
}
