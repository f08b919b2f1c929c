package shard

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

func releases(id lock.SessionID, request uint64, name string) replica.Op {
	return replica.Op{Kind: replica.Release, Session: id, Request: request, Name: name}
}

var sessionC = lock.SessionID{Member: 2, Number: 3}

// entries is the number of entries in the log.
func (s *single) entries() int { return len(s.disk.records) }

// lets checks that an act makes so many entries.
func (s *single) lets(what string, want int, do func()) {
	s.Helper()
	before := s.entries()
	do()
	if made := s.entries() - before; made != want {
		s.Errorf("%s: %d entries; want %d", what, made, want)
	}
}

// tick lets time pass until the shard wants to be woken.
func (s *single) tick() {
	s.now = s.shard.Wake()
	s.do(func(out *Output) { s.shard.Tick(s.now, out) })
}

// TestAReleaseCanLinger checks that the release of a name that no client wants goes with the next request, or by itself
// a moment later.
func TestAReleaseCanLinger(t *testing.T) {
	s := newSingle(t)
	s.hear(from2(1, opens(sessionA)), from2(2, acquires(sessionA, 1, "x")))
	s.lets("a release", 0, func() { s.hear(from2(3, releases(sessionA, 1, "x"))) })
	if s.holder("x") != sessionA {
		t.Errorf("x is held by %v", s.holder("x"))
	}
	s.lets("the next request", 1, func() { s.hear(from2(4, acquires(sessionA, 2, "y"))) })
	if s.holder("x") != (lock.SessionID{}) || s.holder("y") != sessionA {
		t.Errorf("x is held by %v, and y by %v", s.holder("x"), s.holder("y"))
	}
	s.do(func(out *Output) { s.shard.Tick(s.now, out) }) // it beats though it is alone
	s.hear(from2(5, releases(sessionA, 2, "y")))
	if at := s.shard.Wake(); at != s.now+s.shard.config.Linger {
		t.Errorf("it wakes at %v; it is %v", at, s.now)
	}
	s.lets("a release alone, a moment later", 1, s.tick)
	if s.holder("y") != (lock.SessionID{}) {
		t.Errorf("y is held by %v", s.holder("y"))
	}
	if s.shard.lead.queue.wake() != protocol.Never || len(s.shard.lead.queue.of)+len(s.shard.lead.queue.known) > 0 {
		t.Errorf("something is left of what is done: %+v", s.shard.lead.queue)
	}
}

// TestAPlaceInAQueueCanLinger checks that a place in a queue can linger after others: a name passes from client to
// client by one entry each time.
func TestAPlaceInAQueueCanLinger(t *testing.T) {
	s := newSingle(t)
	s.hear(from2(1, opens(sessionA)), from2(2, opens(sessionB)), from2(3, opens(sessionC)), from2(4, acquires(sessionA, 1, "x")))
	s.lets("the first to wait", 1, func() { s.hear(from2(5, acquires(sessionB, 1, "x"))) })
	s.lets("the second to wait", 0, func() { s.hear(from2(6, acquires(sessionC, 1, "x"))) })
	s.lets("a release that another waits for", 1, func() { s.hear(from2(7, releases(sessionA, 1, "x"))) })
	if s.holder("x") != sessionB {
		t.Errorf("x is held by %v", s.holder("x"))
	}
	s.lets("who comes back", 0, func() { s.hear(from2(8, acquires(sessionA, 2, "x"))) })
	s.lets("the next release", 1, func() { s.hear(from2(9, releases(sessionB, 1, "x"))) })
	if l := s.shard.Replica().Table().Show("x"); s.holder("x") != sessionC || len(l.Waiters) != 1 || l.Waiters[0].Session != sessionA {
		t.Errorf("x: %+v; want C, and A to wait", l)
	}
}

// TestWhoWaitsIsAnswered checks that a waiting client is answered at once, regardless of the rest of the queue.
func TestWhoWaitsIsAnswered(t *testing.T) {
	s := newSingle(t)
	s.hear(from2(1, opens(sessionA)), from2(2, opens(sessionB)), from2(3, opens(sessionC)), from2(4, acquires(sessionA, 1, "x")))
	s.lets("the first to wait", 1, func() { s.hear(from2(5, acquires(sessionB, 1, "x"))) })
	try := from2(6, acquires(sessionC, 1, "x"))
	try.Try = true
	s.lets("who does not wait", 1, func() {
		if got := s.hear(try); len(got) != 1 || !errors.Is(got[0].Err, holdfast.ErrHeld) {
			t.Errorf("answered %+v", got)
		}
	})
	short := from2(7, acquires(sessionC, 2, "x"))
	short.Wait = s.shard.config.Linger
	s.lets("who does not wait for long", 1, func() { s.hear(short) })
	s.lets("a cancel", 1, func() {
		s.hear(from2(8, replica.Op{Kind: replica.Cancel, Session: sessionC, Request: 2, Name: "x"}))
	})
	// B waits for A's release, and no client for B's; but a client that asks for a name about to be released gets it.
	s.hear(from2(9, releases(sessionA, 1, "x")))
	s.lets("a release", 0, func() { s.hear(from2(10, releases(sessionB, 1, "x"))) })
	s.lets("who wants what is being released", 1, func() { s.hear(from2(11, acquires(sessionC, 3, "x"))) })
	if s.holder("x") != sessionC {
		t.Errorf("x is held by %v", s.holder("x"))
	}
}
