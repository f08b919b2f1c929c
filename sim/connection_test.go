package sim

import (
	"testing"
	"time"
)

// TestTheFirstStreamIsServedUntilAnotherIsWelcomed: a client that hears nothing opens a
// second stream, and goes on with the first till then; its lock is kept.
func TestTheFirstStreamIsServedUntilAnotherIsWelcomed(t *testing.T) {
	w := still(t, 3, 0)
	m := follower(w)
	c := user(t, w, m)
	held, other := &holder{t: t}, &holder{t: t}
	c.stream.acquire(wantedLock{name: "n"}, held)
	w.run(w.now + time.Second)
	first, s := c.stream.link, &c.stream
	first.downLost = true
	for limit := w.now + c.stream.session.ttl; s.attempt.link == nil && w.now < limit; {
		w.run(w.now + time.Millisecond/10)
	}
	if s.attempt.link == nil || s.link != first || !s.doubted {
		t.Fatal("no second stream is opened beside the first")
	}
	s.acquire(wantedLock{name: "other"}, other)
	c.arm()
	if first.operations.empty() {
		t.Error("nothing is said on the first stream before the second is welcomed")
	}
	w.run(w.now + time.Second)
	if s.link == first || s.doubted || s.attempt.link != nil || !first.broken {
		t.Error("the first stream is not given up for the second")
	}
	if held.lock == nil || !held.lock.believesAt(w.now) || other.lock == nil || w.judge.violation != nil {
		t.Errorf("the lock is kept: %v; the other is granted: %v; %v", held.lock != nil, other.lock != nil, w.judge.violation)
	}
}

// TestAnAnswerOnTheFirstStreamCounts though a second is being opened.
func TestAnAnswerOnTheFirstStreamCounts(t *testing.T) {
	w := still(t, 3, 0)
	c := user(t, w, follower(w))
	first, s := c.stream.link, &c.stream
	before := s.session.deadline
	s.onLate(c.now())
	s.attend(c.now())
	if s.attempt.link == nil || s.link != first {
		t.Fatal("no second stream is opened beside the first")
	}
	sent := c.now()
	s.lastID++
	s.beats = append(s.beats, beat{id: s.lastID, sent: sent})
	s.hear(first, []event{{kind: evBeat, id: s.lastID, span: s.session.ttl}})
	if s.doubted || s.session.deadline <= before {
		t.Error("an acknowledgement on the first stream counts for nothing")
	}
	if s.attempt.link == nil {
		t.Error("the attempt that was begun does not go on")
	}
}

// TestALostSessionEndsTheRound: what is welcomed after the session was lost is not its
// stream, and the next hello asks for a new session.
func TestALostSessionEndsTheRound(t *testing.T) {
	w := still(t, 3, 0)
	c := user(t, w, follower(w))
	s := &c.stream
	before := s.session
	s.onLate(c.now())
	s.attend(c.now())
	s.lose()
	c.arm()
	if s.link != nil || s.attempt.link == nil {
		t.Fatal("the loss of a session ends the attempt to resume it, which nobody waits for")
	}
	w.run(w.now + time.Second)
	if !s.connected() || s.session == nil || s.session == before || s.session.id == before.id {
		t.Errorf("connected %v, session %v after %v", s.connected(), s.session, before)
	}
}
