package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// TestHeartbeatsAreSpread: the moments of a connection's heartbeats are drawn when it is made, so that processes
// whose clients have connected together do not beat together.
func TestHeartbeatsAreSpread(t *testing.T) {
	for _, phase := range []time.Duration{0, time.Second, phases - 1} {
		s, v := newStage(t, withDraw(func(below time.Duration) time.Duration {
			if below != phases {
				t.Errorf("drawn below %v, want %v", below, phases)
			}
			return phase
		}))
		first := phase % testBeat
		if first == 0 {
			first = testBeat
		}
		for i := range 4 {
			due := first + time.Duration(i)*testBeat
			if at := s.beatAt(); at != due {
				t.Fatalf("phase %v: heartbeat %d is due at %v, want %v", phase, i, at, due)
			}
			s.clock.Advance(due - s.clock.Now())
			beat := v.wantOp("beat", 0)
			v.send(beaten(beat.GetId(), testTTL+time.Duration(i))) // nearly the same ttl: the same rhythm
			s.hold(v, fmt.Sprint("x/", i), holdfast.Token(i+1))    // its answer comes after the heartbeat's
		}
	}
}

// beatAt is when the next heartbeat is due.
func (s *stage) beatAt() time.Duration {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.client.beat.At()
}

// TestRhythm: a heartbeat is sent a third of the ttl after the one before, or up to a ninth of that sooner,
// for every ttl; ttls that differ by a little have the same rhythm.
func TestRhythm(t *testing.T) {
	for ttl := 3 * time.Millisecond; ttl < 48*time.Hour; ttl += ttl/7 + 1 {
		if got := rhythm(ttl); got > ttl/3 || got <= ttl/3-ttl/27-1 {
			t.Errorf("%v of a ttl of %v, want %v to %v", got, ttl, ttl/3-ttl/27, ttl/3)
		}
	}
	if got := rhythm(1); got != time.Millisecond {
		t.Errorf("%v of a ttl of 1ns, want %v", got, time.Millisecond)
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
