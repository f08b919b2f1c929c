package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// TestHeartbeatsAreSpread: after a welcome and after each heartbeat the next one is sent a quarter of the ttl
// to a third later, as drawn anew, so that clients that have connected together do not beat together.
func TestHeartbeatsAreSpread(t *testing.T) {
	drawn := []time.Duration{0, testTTL/12 - 1, testTTL / 24}
	asked := 0
	s, v := newStage(t, withDraw(func(below time.Duration) time.Duration {
		if below != testTTL/12 {
			t.Errorf("drawn below %v, want a twelfth of the ttl", below)
		}
		asked++
		return drawn[(asked-1)%len(drawn)]
	}))
	due := time.Duration(0) // the hello was sent then
	for i := range 2 * len(drawn) {
		due += testTTL/4 + drawn[i%len(drawn)]
		s.client.mu.Lock()
		at := s.client.beat.At()
		s.client.mu.Unlock()
		if at != due {
			t.Fatalf("heartbeat %d is due at %v, want %v", i, at, due)
		}
		s.clock.Advance(due - s.clock.Now())
		beat := v.wantOp("beat", 0)
		v.send(beaten(beat.GetId(), testTTL))
		s.hold(v, fmt.Sprint("x/", i), holdfast.Token(i+1)) // its answer comes after the heartbeat's
	}
}

// TestAttemptLimit: a session that has a deadline leaves time for another address; to open one, an address is
// given longer than a member takes that has thousands of others to serve first.
func TestAttemptLimit(t *testing.T) {
	s, v := newStage(t)
	s.hold(v, "x", 1) // the welcome was taken
	if got := s.client.attemptLimit(); got != testTTL/4 {
		t.Errorf("with a session of %v: %v, want a quarter", testTTL, got)
	}
	if got := build(s.client.settings, nil).attemptLimit(); got != freshAttempt || got < 3*maxAttempt {
		t.Errorf("without a session: %v, want %v", got, freshAttempt)
	}
}
