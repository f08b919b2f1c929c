package client

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// TestRefusedBehindHello: the hello on a second stream lists a request that the member at the first one then refuses. What that
// member had asked for may be granted later, and the member at the second stream would take it for one that is still wanted. So the
// Client cancels the request there, again on each later stream, until that is acknowledged.
func TestRefusedBehindHello(t *testing.T) {
	s, v := newStage(t)
	refusal := s.begin("x")
	x := v.acquireOp("x")
	held := s.hold(v, "y", 5)
	wait := s.begin("z")
	z := v.acquireOp("z")
	s.clock.Advance(testBeat)
	v.wantOp("beat", 0)
	s.clock.Advance(testTTL/2 - testBeat)

	second := s.accept()
	if got, want := second.hello.GetRequests(), []uint64{x, held.Request(), z}; !slices.Equal(got, want) {
		t.Fatalf("the second hello lists %v, want %v", got, want)
	}
	v.send(refused(x, api.CodeUnavailable))
	refusal.fails(holdfast.ErrUnavailable)
	second.welcome("a-1", testTTL)
	if cancel := second.wantOp("cancel", x).GetCancel(); cancel.GetName() != "x" || cancel.GetSpace() != "default" {
		t.Errorf("the cancel is of %q in space %q, want %q in %q", cancel.GetName(), cancel.GetSpace(), "x", "default")
	}
	second.wantOp("acquire", z)
	second.broken()

	third := s.accept()
	if got, want := third.hello.GetRequests(), []uint64{x, held.Request(), z}; !slices.Equal(got, want) {
		t.Errorf("the third hello lists %v, want %v: the cancel is not acknowledged", got, want)
	}
	third.welcome("a-1", testTTL)
	third.wantOp("cancel", x)
	third.wantOp("acquire", z)
	third.send(granted(x, 7), released(x, nil), granted(z, 6))
	wait.lock()
	third.broken()

	fourth := s.accept()
	if got, want := fourth.hello.GetRequests(), []uint64{held.Request(), z}; !slices.Equal(got, want) {
		t.Errorf("the fourth hello lists %v, want %v", got, want)
	}
	fourth.welcome("a-1", testTTL)
	s.hold(fourth, "w", 8)
	if err := held.Check(); err != nil {
		t.Errorf("a lock that the hellos list is lost: %v", err)
	}
}
