package authority

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestExecutedIsForgotten checks that the executed operator calls of a process are remembered while a view has it, for
// twice an operator's wait when none has, and never beyond the process.
func TestExecutedIsForgotten(t *testing.T) {
	const self, other = 1, 2
	m, err := New(Config{Self: self}, Rules{Title: "authority", Terms: struct{ Terms }{}})
	if err != nil {
		t.Fatal(err)
	}
	alone := []protocol.Member{{ID: self}}
	with := func(incarnation uint64) []protocol.Member {
		return append(alone[:1:1], protocol.Member{ID: other, Tenure: protocol.Tenure{Incarnation: incarnation}})
	}
	long := rememberGone * m.config.Patience
	e := m.executedFor(other, 5)
	for i, step := range []struct {
		now      protocol.Time
		members  []protocol.Member
		remember bool
	}{
		{10 * long, with(5), true},
		{11 * long, alone, true},
		{12 * long, alone, true},
		{12*long + 1, with(5), true}, // it has come back
		{20 * long, alone, true},
		{21*long + 1, alone, false},
	} {
		m.view = &protocol.View{Members: step.members}
		m.forgetGone(step.now, nil)
		if now := m.executed[other]; (now == e) != step.remember {
			t.Errorf("step %d: remembered %v, want %v", i, now, step.remember)
		}
	}
	m.executedFor(other, 5)
	m.view = &protocol.View{Members: with(6)}
	m.forgetGone(0, nil)
	if m.executed[other] != nil {
		t.Error("it is remembered beyond the process")
	}
}
