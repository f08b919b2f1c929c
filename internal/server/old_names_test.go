package server

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// oldName is a name that earlier versions granted.
const oldName = "pay\u202eroll"

// older is a space in which the name "older" is granted as oldName, as if it had been requested from an earlier version.
type older struct{ protocol.Machine }

func (o older) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if r, is := ev.Fact.(*lock.Request); is && r.Name == "older" {
		renamed := *r
		renamed.Name = oldName
		ev.Fact = &renamed
	}
	o.Machine.Step(now, ev, out)
}

// TestOldNames: a lock whose name has a format character is shown, listed, broken and released, and none is granted
// anew (S5).
func TestOldNames(t *testing.T) {
	b := newHarnessOf(t, calm{}, func(m protocol.Machine) protocol.Machine { return older{m} }, nil, nil)
	in := func(operation *schema.Operation) *schema.Operation {
		switch kind := operation.Kind.(type) {
		case *schema.Operation_Acquire:
			kind.Acquire.Space = "any"
		case *schema.Operation_Release:
			kind.Release.Space = "any"
		}
		return operation
	}
	c := b.open()
	for id, name := range []string{oldName, "a\u200bb", "\u2028", "\ufeff"} {
		c.say(in(opAcquire(uint64(id+1), name)))
		if problem := c.refused(uint64(id+1), api.CodeName); !strings.Contains(problem.GetDetail(), "invisible format character U+") {
			t.Errorf("a new lock %q: %q", name, problem.GetDetail())
		}
	}
	c.say(in(opAcquire(10, "older")))
	token := c.granted(10).GetToken()

	locks, ctx := schema.NewLocksClient(b.conn), t.Context()
	shown, err := locks.Show(ctx, &schema.ShowRequest{Space: "any", Name: oldName})
	must(t, err)
	if shown.GetName() != oldName || len(shown.GetHolders()) != 1 {
		t.Errorf("shown: %v", shown)
	}
	listed, err := locks.List(ctx, &schema.ListRequest{Space: "any"})
	must(t, err)
	if len(listed.GetLocks()) != 1 || listed.GetLocks()[0].GetName() != oldName {
		t.Errorf("listed: %v", listed)
	}
	// The session knows it under the other name: that it is not held is an answer, and no refusal of the name.
	c.say(in(opRelease(11, oldName, token)))
	if problem := c.hear().GetReleased().GetProblem(); problem.GetCode() != api.CodeNotHeld {
		t.Errorf("a release: %v", problem)
	}
	if _, err := locks.Break(ctx, &schema.BreakRequest{Space: "any", Name: oldName, Reason: "by its\u200bname"}); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("a new reason has a format character: %v", err)
	}
	_, err = locks.Break(ctx, &schema.BreakRequest{Space: "any", Name: oldName, Reason: "by its name"})
	must(t, err)
	if _, err := locks.Acquire(ctx, &schema.AcquireRequest{Space: "any", Names: []string{oldName}}); err == nil || !strings.Contains(err.Error(), "format character U+202E") {
		t.Errorf("a new lock over HTTP or one call: %v", err)
	}
}
