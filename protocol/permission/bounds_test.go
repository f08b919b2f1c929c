package permission

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestOperatorsAreBounded: of calls that wait for a member that is silent, so many are taken.
func TestOperatorsAreBounded(t *testing.T) {
	p := newPair(t, Config{Operators: 3})
	p.members[2] = nil // it hears nothing
	var out protocol.Effects
	for op := range uint64(4) {
		p.members[1].Step(p.now, protocol.Event{
			Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 100 + op}, Fact: &protocol.Show{Name: "a"},
		}, &out)
	}
	if len(out.Replies) != 1 || out.Replies[0].To.Op != 103 {
		t.Fatalf("answered at once: %+v", out.Replies)
	}
	var limit *holdfast.LimitError
	if told := out.Replies[0].Result.(*protocol.Unanswered); !errors.As(told.Err, &limit) || limit.Limit != "operators" || limit.Value != 3 {
		t.Errorf("the fourth is told %v", told.Err)
	}
}
