package grantor_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// read returns the probe of members that hand the table over.
func read() probe.Transfers {
	d := grantor.Descriptor()
	return probe.Of(&d).TransferProbe
}

// TestStepsOfTransfersAreReported checks that steps are distinguished from all other messages, including those of the
// same type.
func TestStepsOfTransfersAreReported(t *testing.T) {
	for _, at := range []struct {
		message protocol.Message
		want    probe.TransferStep
	}{
		{grantor.Invite{}, probe.StepInvite},
		{grantor.Question{Kind: grantor.Become}, probe.StepBecome},
		{grantor.Question{Kind: grantor.Get}, 0},
		{grantor.Depose{}, probe.StepDepose},
		{grantor.Deposed{}, probe.StepDeposed},
		{grantor.Info{Beginning: grantor.Inheriting}, probe.StepNamed},
		{grantor.Info{Beginning: grantor.Recovering}, 0},
		{grantor.TransferRequest{}, probe.StepRequest},
		{grantor.TransferTable{}, probe.StepTable},
		{grantor.TransferTable{Last: true}, probe.StepLast},
		{grantor.TransferTable{None: true}, 0},
		{grantor.NotGrantor{}, 0},
		{authority.Decided{}, 0},
	} {
		if got := read().Step(at.message); got != at.want {
			t.Errorf("%T %v is step %d; want %d", at.message, at.message, got, at.want)
		}
	}
}

// TestOnlyWhoMayKeepIsRecalled checks that a grant that no client here has asks none to give way.
func TestOnlyWhoMayKeepIsRecalled(t *testing.T) {
	space, err := grantor.New(grantor.Config{Config: authority.Config{Self: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []protocol.Message{authority.Decided{Kind: lock.Granted}, authority.Decided{Kind: lock.Granted, Keep: true}, authority.Acks{}} {
		if got := read().RecallIn(space, m); got != probe.KeepsNothing {
			t.Errorf("%v finds %d; want %d", m, got, probe.KeepsNothing)
		}
	}
}
