package sim

import (
	"testing"
	"time"
)

// TestTheFirstStreamIsServedUntilAnotherIsWelcomed checks that a client without answers opens a second stream,
// continues with the first until the second is welcomed, and keeps its lock.
func TestTheFirstStreamIsServedUntilAnotherIsWelcomed(t *testing.T) {
	w := still(t, 3, 0)
	m := follower(w)
	c := user(t, w, m)
	held, other := &holder{t: t}, &holder{t: t}
	c.stream.acquire(wantedLock{name: "n"}, held)
	w.run(w.now + time.Second)
	first, s := c.stream.link, &c.stream
	first.downLost = true
	for limit := w.now + c.stream.session.TTL; len(s.asked) == 0 && w.now < limit; {
		w.run(w.now + time.Millisecond/10)
	}
	if len(s.asked) == 0 || s.link != first || !s.machine.Doubted() {
		t.Fatal("no second stream is opened next to the first")
	}
	s.acquire(wantedLock{name: "other"}, other)
	c.arm()
	if first.operations.empty() {
		t.Error("the client sends nothing on the first stream before the second is welcomed")
	}
	w.run(w.now + time.Second)
	if s.link == first || s.machine.Doubted() || len(s.asked) != 0 || !first.broken {
		t.Error("the first stream is not given up for the second")
	}
	if held.lock == nil || !held.lock.believesAt(w.now) || other.lock == nil || w.judge.violation != nil {
		t.Errorf("the lock is kept: %v; the other is granted: %v; %v", held.lock != nil, other.lock != nil, w.judge.violation)
	}
}
