package session

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTTL = 8 * time.Second

// TestRhythm: a heartbeat is sent a third of the ttl after the one before, or up to a ninth of that sooner,
// for every ttl; ttls that differ by a little have the same rhythm.
func TestRhythm(t *testing.T) {
	for ttl := 3 * time.Millisecond; ttl < 48*time.Hour; ttl += ttl/7 + 1 {
		if got := Rhythm(ttl); got > ttl/3 || got <= ttl/3-ttl/27-1 {
			t.Errorf("%v of a ttl of %v, want %v to %v", got, ttl, ttl/3-ttl/27, ttl/3)
		}
	}
	if got := Rhythm(1); got != time.Millisecond {
		t.Errorf("%v of a ttl of 1ns, want %v", got, time.Millisecond)
	}
}

// TestLateAfter: where the heartbeats before took long to be answered, the next one is not late until it has been
// unanswered for longer than they were. One that was slow by itself changes nothing.
func TestLateAfter(t *testing.T) {
	const second = time.Second
	for _, of := range []struct {
		took []time.Duration
		late time.Duration
	}{
		{nil, testTTL / 2},
		{[]time.Duration{0}, testTTL / 2},
		{[]time.Duration{testTTL / 9}, testTTL / 2},
		{[]time.Duration{2 * second}, testTTL/3 + 3*second},
		{[]time.Duration{5 * second}, testTTL * 3 / 4},
		{[]time.Duration{2 * second, 5 * second}, testTTL/3 + 3*second},
		{[]time.Duration{5 * second, 2 * second}, testTTL/3 + 3*second},
		{[]time.Duration{0, 5 * second}, testTTL / 2},
		{[]time.Duration{5 * second, 0}, testTTL / 2},
		{[]time.Duration{5 * second, 0, 0}, testTTL / 2},
	} {
		var a answers
		for _, took := range of.took {
			a.note(took)
		}
		if got := a.lateAfter(testTTL); got != of.late {
			t.Errorf("answers that took %v: late after %v, want %v", of.took, got, of.late)
		}
	}
}

// TestExpiredIsExpired: a lock that has seen the deadline pass, before any timer has
// run, is not left behind by an answer that comes then.
func TestExpiredIsExpired(t *testing.T) {
	s := &Session{}
	if !s.Renew(0, 0, time.Second) || s.Deadline() != time.Second || !s.Alive(0) {
		t.Fatal("not alive at first")
	}
	if !s.Renew(0, 0, 500*time.Millisecond) || s.Deadline() != 500*time.Millisecond {
		t.Error("a shorter ttl does not count")
	}
	now := 500 * time.Millisecond
	if s.Look(now); s.Renew(now-1, 400*time.Millisecond, time.Hour) || s.Alive(now) {
		t.Error("revived after the deadline was seen to pass, by an answer that was read before")
	}
	if s.Renew(now, 400*time.Millisecond, time.Hour) || s.Deadline() != now {
		t.Errorf("ended at %v", s.Deadline())
	}
	other := &Session{}
	if other.Renew(now, 0, 500*time.Millisecond) {
		t.Error("an answer that is too old opened a session")
	}
}

// TestBusyQueue: what was sent leaves the queue's memory even where the queue is never
// empty.
func TestBusyQueue(t *testing.T) {
	m := New(Config{})
	m.stream, m.out = &Contact{}, &Effects{}
	for range MaxOperations {
		m.push(sendBeat, nil)
	}
	frame := &Frame{}
	for range 200 {
		for range MaxOperations {
			m.push(sendBeat, nil)
		}
		if !m.Fill(0, frame) || len(frame.Message.Operations) != MaxOperations {
			t.Fatalf("a frame of %d operations, want %d", len(frame.Message.Operations), MaxOperations)
		}
		if n := cap(m.queue); n > 16*MaxOperations {
			t.Fatalf("the queue takes the room of %d operations, and %d wait", n, MaxOperations)
		}
	}
}

// TestContactLimit: a session that has a deadline leaves time for another address, and at least a second; to open one, an address is
// given longer than a member takes that has thousands of others to serve first.
func TestContactLimit(t *testing.T) {
	for _, of := range []struct{ ttl, limit time.Duration }{{0, FreshAttempt}, {testTTL, testTTL / 4}, {2 * time.Second, time.Second}, {time.Hour, maxAttempt}} {
		m := New(Config{})
		if of.ttl > 0 {
			m.session = &Session{TTL: of.ttl}
		}
		var out Effects
		m.Step(time.Second, &Event{Kind: Opening, Contact: &Contact{}}, &out)
		if got := m.Wake() - time.Second; got != of.limit {
			t.Errorf("with a session of %v: %v, want %v", of.ttl, got, of.limit)
		}
	}
	if FreshAttempt < 3*maxAttempt {
		t.Errorf("%v to open a session, and %v to resume one", FreshAttempt, maxAttempt)
	}
}
