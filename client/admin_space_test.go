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

// grantor answers operators' deeds on spaces.
type grantor struct {
	schema.UnimplementedAdminServer
	transfer  *schema.TransferRequest
	suspend   *schema.SuspendRequest
	resume    *schema.ResumeRequest
	openSpace *schema.OpenSpaceRequest
	close     *schema.CloseSpaceRequest
	err       error
}

func (g *grantor) Transfer(_ context.Context, q *schema.TransferRequest) (*schema.Transferred, error) {
	g.transfer = q
	return &schema.Transferred{Space: "billing", Authority: []string{"b"}}, api.ToStatus(g.err)
}

func (g *grantor) Suspend(_ context.Context, q *schema.SuspendRequest) (*schema.Suspended, error) {
	g.suspend = q
	return &schema.Suspended{Space: "billing", Suspended: true, Suspension: &schema.Grant{Owner: "operator", Token: 9}}, api.ToStatus(g.err)
}

func (g *grantor) Resume(_ context.Context, q *schema.ResumeRequest) (*schema.Suspended, error) {
	g.resume = q
	return &schema.Suspended{Space: "billing", Changed: true}, api.ToStatus(g.err)
}

func (g *grantor) OpenSpace(_ context.Context, q *schema.OpenSpaceRequest) (*schema.OpenedSpace, error) {
	g.openSpace = q
	return &schema.OpenedSpace{Space: "billing", Open: true}, api.ToStatus(g.err)
}

func (g *grantor) CloseSpace(_ context.Context, q *schema.CloseSpaceRequest) (*schema.OpenedSpace, error) {
	g.close = q
	return &schema.OpenedSpace{Space: "billing"}, api.ToStatus(g.err)
}

// TestOperationsOnSpaces: what any member can do the first that can be reached is asked for, and
// what is about one member that one alone.
func TestOperationsOnSpaces(t *testing.T) {
	one := &grantor{}
	address := serveAdmin(t, one)
	behind, err := DialAdmin("127.0.0.1:1,"+address, Name("me"), Space("billing"))
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	transferred, err := behind.Transfer(t.Context(), "", "b")
	if err != nil || transferred.Authority[0] != "b" || one.transfer.GetMember() != "b" || one.transfer.GetSpace() != "billing" || one.transfer.GetBy() != "me" {
		t.Errorf("transferred %+v, %v, asked %v", transferred, err, one.transfer)
	}
	suspended, err := behind.Suspend(t.Context(), "", Suspension{Reason: "restore", Wait: time.Second})
	if err != nil || !suspended.Suspended || suspended.Changed || suspended.Suspension.Owner != "operator" {
		t.Errorf("suspended %+v, %v", suspended, err)
	}
	if q := one.suspend; q.GetReason() != "restore" || q.GetBy() != "me" || q.Wait == nil || q.GetWait().AsDuration() != time.Second {
		t.Errorf("asked %v", q)
	}
	if _, err := behind.Suspend(t.Context(), "", Suspension{By: "ops"}); err != nil || one.suspend.Wait == nil || one.suspend.GetWait().AsDuration() != 0 || one.suspend.GetBy() != "ops" {
		t.Errorf("asked %v, %v", one.suspend, err)
	}
	if _, err := behind.Suspend(t.Context(), "", Suspension{Wait: -1}); err != nil || one.suspend.Wait != nil {
		t.Errorf("asked %v, %v", one.suspend, err)
	}
	resumed, err := behind.Resume(t.Context(), "other", "done", "ops")
	if err != nil || resumed.Suspended || !resumed.Changed || one.resume.GetSpace() != "other" || one.resume.GetReason() != "done" || one.resume.GetBy() != "ops" {
		t.Errorf("resumed %+v, %v, asked %v", resumed, err, one.resume)
	}
	if _, err := behind.OpenSpace(t.Context(), ""); !errors.Is(err, holdfast.ErrUnavailable) || one.openSpace != nil {
		t.Errorf("the second member was asked: %v", err)
	}
	if _, err := behind.CloseSpace(t.Context(), ""); !errors.Is(err, holdfast.ErrUnavailable) || one.close != nil {
		t.Errorf("the second member was asked: %v", err)
	}

	first, err := DialAdmin(address+",127.0.0.1:1", Name("me"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	opened, err := first.OpenSpace(t.Context(), "billing")
	if err != nil || !opened.Open || one.openSpace.GetSpace() != "billing" || one.openSpace.GetBy() != "me" {
		t.Errorf("opened %+v, %v, asked %v", opened, err, one.openSpace)
	}
	closed, err := first.CloseSpace(t.Context(), "billing")
	if err != nil || closed.Open || closed.Space != "billing" || one.close.GetSpace() != "billing" {
		t.Errorf("closed %+v, %v, asked %v", closed, err, one.close)
	}
	one.err = api.Fail(api.CodeConflict, "no such member")
	if _, err := first.Transfer(t.Context(), "billing", "x"); !errors.Is(err, holdfast.ErrConflict) || err.Error() != "transfer: no such member" {
		t.Errorf("got %v", err)
	}
}
