package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
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
	return s.client.machine.BeatAt()
}

// TestSlowAnswers: where the heartbeats before took long to be answered, the next one is not late until it has been
// unanswered for longer than they were. One that was slow by itself changes nothing.
func TestSlowAnswers(t *testing.T) {
	s, v := newStage(t)
	s.hold(v, "x", 1)
	s.clock.Advance(testBeat)
	beat := v.wantOp("beat", 0)
	s.clock.Advance(testTTL/2 - testBeat - 1) // just in time
	v.send(beaten(beat.GetId(), testTTL))
	s.holdAmongBeats(v, "y", 2) // its answer comes after the heartbeat's
	took := testTTL/2 - 1 - testBeat
	if got, want := s.lateAt(), testBeat+testTTL/3+took+took/2; got != want {
		t.Errorf("an answer is missed at %v, want %v", got, want)
	}
}

// lateAt is when an acknowledgement is missed.
func (s *stage) lateAt() time.Duration {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.client.machine.LateAt()
}

// TestStalledProcess: a process that did not run when an answer was missed waits for the answer to the heartbeat that it
// sends now, before it opens another stream. It does so for as long as the last quarter of the ttl has not come.
func TestStalledProcess(t *testing.T) {
	late := make(chan time.Duration, 1)
	s, v := newStage(t, OnLate(func(remaining time.Duration) { late <- remaining }))
	s.hold(v, "x", 1)
	s.clock.Advance(testTTL/2 + session.Stalled)
	beat := v.wantOp("beat", 0)
	s.untilLateAt(testTTL/2 + session.Stalled + time.Second)
	v.send(beaten(beat.GetId(), testTTL))
	sent := testTTL/2 + session.Stalled
	s.untilLateAt(sent + testTTL/2)
	if n := len(linked(at(t, s.address))); n != 1 {
		t.Errorf("%d connections get further streams: want the one that has answered", n)
	}

	s.clock.Advance(testTTL/2 + session.Stalled)
	v.wantOp("beat", 0) // that is not answered
	s.untilLateAt(sent + testTTL/2 + session.Stalled + time.Second)
	s.clock.Advance(time.Second + session.Stalled) // and late again: three quarters of the ttl are near
	s.untilLateAt(sent + testTTL - testTTL/4)
	select {
	case remaining := <-late:
		t.Errorf("reported with %v left that no answer has come, before one could", remaining)
	default:
	}
	s.clock.Advance(sent + testTTL - testTTL/4 - s.clock.Now())
	if remaining := <-late; remaining != testTTL/4 {
		t.Errorf("reported with %v left that no answer has come, want %v", remaining, testTTL/4)
	}
	again := s.accept()
	again.welcome("a-1", testTTL)
	s.hold(again, "y", 2)
}

// untilLateAt waits until an acknowledgement is missed at a time.
func (s *stage) untilLateAt(want time.Duration) {
	s.t.Helper()
	s.until(func() bool { return s.client.machine.LateAt() == want })
}
