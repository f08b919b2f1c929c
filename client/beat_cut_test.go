package client

import (
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestTTLCutByAHeartbeat: why the ttl is cut is what the latest answer says, and no longer said when a heartbeat is answered with all
// that was asked for.
func TestTTLCutByAHeartbeat(t *testing.T) {
	s, v := newStage(t)
	if cut := s.client.TTLCut(); cut != "" {
		t.Fatalf("it begins with %q", cut)
	}
	for i, want := range []string{"no more is promised", "no more is promised", ""} {
		s.clock.Advance(s.beatAt() - s.clock.Now())
		answer := beaten(v.wantOp("beat", 0).GetId(), testTTL)
		answer.GetBeat().TtlCut = want
		v.send(answer)
		s.hold(v, fmt.Sprint("x/", i), holdfast.Token(i+1)) // its answer comes after the heartbeat's
		if cut := s.client.TTLCut(); cut != want {
			t.Errorf("after heartbeat %d it is cut because %q, want %q", i, cut, want)
		}
	}
}
