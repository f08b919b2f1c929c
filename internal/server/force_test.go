package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// survivor forces what it is asked to, unless it has an error to tell.
type survivor struct {
	err    error
	orders []*schema.ForceViewRequest
	forced *schema.ForcedView
}

func (s *survivor) PlanForce(_ context.Context, members []string) (*schema.ForcePlan, error) {
	return &schema.ForcePlan{Member: "a", View: 7, Named: members, Rivals: []string{"b", "c"}, Code: "0123abcd"}, s.err
}

func (s *survivor) Force(_ context.Context, order *schema.ForceViewRequest) (*schema.ForcedView, error) {
	s.orders = append(s.orders, order)
	if s.err != nil {
		return nil, s.err
	}
	s.forced = &schema.ForcedView{View: 8, Replaced: 7, Members: order.Members, Reason: order.Reason, By: order.By, Time: api.Stamp(time.Unix(1, 0))}
	return s.forced, nil
}

func (s *survivor) Forced() *schema.ForcedView { return s.forced }

// TestForceView: the plan, the view, the event, and the status afterwards.
func TestForceView(t *testing.T) {
	var log bytes.Buffer
	one := &survivor{}
	b := newHarness(t, func(c *Config) {
		c.Forcer, c.Who = one, others
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}, nil)
	admin := schema.NewAdminClient(b.conn)
	plan, err := admin.PlanForce(t.Context(), &schema.PlanForceRequest{Members: []string{"a"}})
	if err != nil || !strings.Contains(documentOf(plan), `"rivals":["b","c"],"wait":"0s","spaces":[],"code":"0123abcd"`) {
		t.Errorf("plan %s, %v", documentOf(plan), err)
	}
	if !strings.Contains(log.String(), `msg="asked what a forced view would be" members=[a] replaces=7`) {
		t.Errorf("the log is %s", &log)
	}
	feed, err := b.service.watch(t.Context(), &schema.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	forced, err := admin.ForceView(t.Context(), &schema.ForceViewRequest{Members: []string{"a"}, Reason: "fire", By: "ops", Confirm: "0123abcd"})
	if err != nil || !strings.Contains(documentOf(forced), `{"view":"8","replaced":"7","members":["a"],"reason":"fire","by":"anonymous, ops"`) {
		t.Errorf("forced %s, %v", documentOf(forced), err)
	}
	if len(one.orders) != 1 || one.orders[0].Confirm != "0123abcd" {
		t.Errorf("ordered %+v", one.orders)
	}
	events := happened(t, feed)
	if events[0].Event != "view" || events[0].Why != "view 8: a; forced by anonymous, ops in the place of view 7: fire" {
		t.Errorf("events %+v", events)
	}
	status, err := b.service.Status(t.Context(), &schema.StatusRequest{})
	if err != nil || status.View.Forced == nil || status.View.Forced.By != "anonymous, ops" || status.View.Why != "the view is not installed" {
		t.Errorf("status %+v, %v", status.View, err)
	}
}

// TestForceViewRefused says what is wrong, and what is allowed.
func TestForceViewRefused(t *testing.T) {
	one := &survivor{err: api.Fail(api.CodeConflict, "nothing need be forced")}
	b := newHarness(t, func(c *Config) { c.Forcer = one }, nil)
	admin := schema.NewAdminClient(b.conn)
	tries := 0
	for text, order := range map[string]*schema.ForceViewRequest{
		"members: 0 are named":   {Reason: "fire", Confirm: "1"},
		"reason: it is missing":  {Members: []string{"a"}, Reason: " ", Confirm: "1"},
		"confirm: it is missing": {Members: []string{"a"}, Reason: "fire"},
		"reason":                 {Members: []string{"a"}, Reason: "fire\x00", Confirm: "1"},
		"members":                {Members: []string{"a\n"}, Reason: "fire", Confirm: "1"},
	} {
		_, err := admin.ForceView(t.Context(), order)
		if code := api.Code(api.FromStatus("force-view", err)); err == nil || !strings.Contains(err.Error(), text) || code != api.CodeBadRequest && code != api.CodeName {
			t.Errorf("%v: %v (%s), want %q", order, err, code, text)
		}
		tries++
	}
	if len(one.orders) != 0 || tries != 5 {
		t.Errorf("ordered %+v", one.orders)
	}
	_, err := admin.ForceView(t.Context(), &schema.ForceViewRequest{Members: []string{"a"}, Reason: "fire", Confirm: "1"})
	if got := api.FromStatus("force-view", err); !errors.Is(got, holdfast.ErrConflict) || got.Error() != "force-view: nothing need be forced" {
		t.Errorf("got %v", got)
	}
	if _, err := admin.PlanForce(t.Context(), &schema.PlanForceRequest{Members: []string{"a"}}); !errors.Is(api.FromStatus("force-view", err), holdfast.ErrConflict) {
		t.Errorf("got %v", err)
	}
	embedded := newHarness(t, nil, nil)
	if _, err := schema.NewAdminClient(embedded.conn).PlanForce(t.Context(), &schema.PlanForceRequest{Members: []string{"a"}}); !errors.Is(api.FromStatus("force-view", err), holdfast.ErrUnsupported) {
		t.Errorf("an embedded member: %v", err)
	}
}
