package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A client's session, and what time does to it: package client's client.go and alarm.go.
// How it stays connected is in connection.go.

// stream is a client's connection, its session and its requests.
type stream struct {
	client  *client
	session *presence
	link    *link   // that was welcomed, and is served; nil while there is none (Client.stream)
	doubted bool    // it has acknowledged nothing for half of the ttl, and another is to be opened
	attempt attempt // to open another
	search  search
	closing bool

	requests []*request // not settled, in the order of their ids
	spent    bool       // some of them are settled, and not forgotten yet
	lastID   uint64
	beats    []beat
	beatAt   time.Duration
	lateAt   time.Duration
}

// beat is a heartbeat that is not answered.
type beat struct {
	id   uint64
	sent time.Duration
	at   instant
}

func newStream(c *client) stream {
	return stream{client: c, attempt: noAttempt(), search: search{pause: minPause}, beatAt: protocol.Never, lateAt: protocol.Never}
}

// wake is when the stream has something to do.
func (s *stream) wake() time.Duration {
	at := min(s.attempt.silence, s.search.next, s.beatAt, s.lateAt)
	if s.session != nil && s.session.deadline != 0 {
		at = min(at, s.session.deadline)
	}
	for _, r := range s.requests {
		at = min(at, r.guard)
	}
	return at
}

// tick does what the time has come for.
func (s *stream) tick(now time.Duration) {
	if p := s.session; p != nil && p.deadline != 0 && !p.alive(now) {
		s.lose()
	}
	if now >= s.lateAt {
		s.onLate(now)
	}
	if now >= s.attempt.silence {
		s.failed(now)
	}
	if now >= s.beatAt {
		s.onBeat(now)
	}
	for i := 0; i < len(s.requests); i++ {
		if r := s.requests[i]; now >= r.guard {
			s.onGuard(r, now)
		}
	}
	s.compact()
	if now >= s.search.next {
		s.attend(now)
	}
}

// connected is Client.connected.
func (s *stream) connected() bool { return s.link != nil }

func (s *stream) say(op operation) {
	if s.link != nil {
		s.link.say(op)
	}
}

// onBeat sends a heartbeat (Machine.onBeat).
func (s *stream) onBeat(now time.Duration) {
	s.lastID++
	s.beats = append(s.beats, beat{s.lastID, now, s.client.world.now})
	s.say(operation{kind: opBeat, id: s.lastID, ttl: s.client.ttl})
	s.beatAt = now + max(time.Millisecond, s.session.ttl/4)
}

// onLate is called when no heartbeat has been acknowledged for half of the ttl. Another
// stream is opened then; but the one that there is goes on until that is welcomed
// (Machine.onLate).
func (s *stream) onLate(now time.Duration) {
	s.lateAt = protocol.Never
	s.doubted = s.link != nil
	s.hasten(now)
}

// acknowledged renews the session by the answer to what was sent at the time sent
// (Machine.acknowledged). A member that has answered is not doubted any more; an attempt that
// was begun meanwhile goes on nevertheless.
func (s *stream) acknowledged(now, sent, ttl time.Duration) bool {
	if !s.session.renew(now, sent, ttl) {
		s.lose()
		return false
	}
	s.doubted = false
	s.lateAt = s.session.anchor + ttl/2
	return true
}

// onBeaten moves the deadline to the ttl after this very beat was sent. The answers to
// beats before it say nothing new (Machine.onBeaten).
func (s *stream) onBeaten(now time.Duration, ev *event) {
	for i, b := range s.beats {
		if b.id == ev.id {
			s.beats = append(s.beats[:0], s.beats[i+1:]...)
			s.client.world.judge.renews(s.session.id, s.client, b.at)
			s.acknowledged(now, b.sent, ev.span)
			return
		}
	}
}

// lose ends the session: its locks are lost, and what still waits is asked for again
// in the next one (Machine.lose). An attempt to resume it goes on, and comes to nothing.
func (s *stream) lose() {
	if s.session == nil {
		return
	}
	c := s.client
	c.world.trace("%s has lost session %v", c, s.session.id)
	s.session.over = true
	if s.session.taken {
		c.endSoon() // what it was started for is over
	}
	s.session, s.lateAt = nil, protocol.Never
	for _, r := range s.requests {
		switch r.state {
		case requested:
			r.waiting, r.unsent = false, true
		case held:
			s.end(r, holdfast.SessionExpired)
			s.settle(r)
		default:
			s.settle(r)
		}
	}
	s.compact()
	s.hangUp()
	s.hasten(c.now())
}

// find returns a request that is not settled.
func (s *stream) find(id uint64) *request {
	for _, r := range s.requests {
		if r.id == id && r.state != settled {
			return r
		}
	}
	return nil
}

// compact forgets what is settled.
func (s *stream) compact() {
	if !s.spent {
		return
	}
	s.spent = false
	kept := s.requests[:0]
	for _, r := range s.requests {
		if r.state != settled {
			kept = append(kept, r)
		}
	}
	clear(s.requests[len(kept):])
	s.requests = kept
}

// sessionID is the present session's, zero while there is none.
func (s *stream) sessionID() lock.SessionID {
	if s.session == nil {
		return lock.SessionID{}
	}
	return s.session.id
}
