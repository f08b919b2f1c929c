package server

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestOverload: a member that is behind refuses new sessions and new requests with a limit, says so in its
// status and metrics, and goes on with what its sessions keep and give back, and with what they asked for
// before their streams broke.
func TestOverload(t *testing.T) {
	var over atomic.Bool
	b := newHarness(t, func(c *Config) {
		c.Lag = func() (time.Duration, bool) { return 1500 * time.Millisecond, over.Load() }
		c.Logger = slog.New(slog.DiscardHandler)
	}, nil)
	must(t, b.service.register())
	holder, waiter := b.open(), b.open()
	holder.say(opAcquire(1, "x"), opAcquire(2, "y"))
	holder.granted(1)
	token := holder.granted(2).GetToken()
	waiter.say(opAcquire(1, "x"))
	waiter.queued(1, 0)

	over.Store(true)
	fresh := b.call(b.conn)
	fresh.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Client: "new"}}})
	tooMuch(t, fresh.refused(0, api.CodeLimit))
	holder.say(opAcquire(3, "z"))
	tooMuch(t, holder.refused(3, api.CodeLimit))
	_, err := b.service.Acquire(t.Context(), &schema.AcquireRequest{Names: []string{"z"}})
	tooMuch(t, api.ToProblem(err))

	holder.say(opBeat(4, 0))
	if beat := holder.hear(); beat.GetBeat().GetTtl() == 0 {
		t.Errorf("a heartbeat is answered by %v", beat)
	}
	again := b.call(b.conn)
	again.id, again.secret = waiter.id, waiter.secret
	again.welcome(&schema.Hello{Session: waiter.id, Secret: waiter.secret, Requests: []uint64{1}, Last: 1})
	again.say(opAcquire(1, "x"), opAcquire(2, "z")) // the first stands in the queue already
	tooMuch(t, again.refused(2, api.CodeLimit))
	again.queued(1, 0)
	holder.say(opRelease(2, "y", token))
	holder.released(2)
	if status, err := b.service.Status(t.Context(), &schema.StatusRequest{}); err != nil || status.Member.State != "overloaded" {
		t.Errorf("state %q, %v", status.Member.State, err)
	}
	if n := refusals(t, b, "overload"); n != 4 {
		t.Errorf("%v refusals were counted, want 4", n)
	}
	if n := gauge(t, b, "holdfast_overloaded"); n != 1 {
		t.Errorf("holdfast_overloaded is %v", n)
	}
	if n := gauge(t, b, "holdfast_lag_seconds"); n != 1.5 {
		t.Errorf("holdfast_lag_seconds is %v", n)
	}

	over.Store(false)
	b.open()
	holder.say(opAcquire(5, "z"))
	holder.granted(5)
	if n := gauge(t, b, "holdfast_overloaded"); n != 0 {
		t.Errorf("holdfast_overloaded is %v when it is over", n)
	}
}

// gauge returns a metric without labels.
func gauge(t *testing.T, b *harness, name string) float64 {
	t.Helper()
	families, err := b.service.observer.registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Errorf("there is no metric %s", name)
	return 0
}

// tooMuch wants the refusal of an overloaded member.
func tooMuch(t *testing.T, problem *schema.Problem) {
	t.Helper()
	err := api.FromProblem("", problem)
	var limit *holdfast.LimitError
	if !errors.As(err, &limit) || limit.Limit != "overload" || limit.Value != 1000 || problem.GetCode() != api.CodeLimit {
		t.Errorf("refused with %v", problem)
	}
	const want = "member a is overloaded: what arrives waits 1.5s until it is heard, and 1s is allowed; try again in 1s"
	if !strings.Contains(problem.GetDetail(), want) {
		t.Errorf("refused with %q, want %q", problem.GetDetail(), want)
	}
}
