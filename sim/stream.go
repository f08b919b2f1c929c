package sim

import (
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/session"
)

// How a client stays connected: package client's connection.go and event.go, with one
// thing at a time instead of goroutines.

// Pauses between rounds of connecting, and how long one member may take to answer a
// hello (client: minPause, maxPause, minAttempt, maxAttempt).
const (
	minPause   = 10 * time.Millisecond
	maxPause   = time.Second
	minAttempt = 500 * time.Millisecond
	maxAttempt = 5 * time.Second
)

// stream is a client's connection, its session and its requests.
type stream struct {
	client   *client
	session  *presence
	link     *link // being greeted, or welcomed
	welcomed bool
	helloed  *presence // the session that the hello names, or nil
	sent     time.Duration
	silence  time.Duration // when the member has taken too long to welcome; Never otherwise
	round    []*member     // that remain to be tried before a pause
	next     time.Duration // when to try the next; Never while connected
	pause    time.Duration
	last     *member

	requests []*request // not settled, in the order of their ids
	lastID   uint64
	limits   []limit // of the grants that were shortened last
	beats    []beat
	beatAt   time.Duration
	lateAt   time.Duration
}

// beat is a heartbeat that is not answered.
type beat struct {
	id   uint64
	sent time.Duration
}

func newStream(c *client) stream {
	return stream{client: c, silence: protocol.Never, next: 0, pause: minPause, beatAt: protocol.Never, lateAt: protocol.Never}
}

// wake is when the stream has something to do.
func (s *stream) wake() time.Duration {
	at := min(s.silence, s.next, s.beatAt, s.lateAt)
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
		s.lateAt = protocol.Never
		s.giveUp()
	}
	if now >= s.silence {
		s.giveUp()
	}
	if now >= s.beatAt && s.welcomed {
		s.lastID++
		s.beats = append(s.beats, beat{s.lastID, now})
		s.say(operation{kind: opBeat, id: s.lastID, ttl: s.client.ttl})
		s.beatAt = now + max(time.Millisecond, s.session.ttl/4)
	}
	for i := 0; i < len(s.requests); i++ {
		if r := s.requests[i]; now >= r.guard {
			s.onGuard(r, now)
		}
	}
	s.compact()
	if now >= s.next {
		s.attend(now)
	}
}

// giveUp drops a connection that answers nothing, and goes to the next place at once.
func (s *stream) giveUp() {
	if s.link == nil {
		return
	}
	s.link.sever(clientEnd)
	s.detach()
	s.next = s.client.now()
}

// attend goes to the next place: first where the session is (Client.places).
func (s *stream) attend(now time.Duration) {
	c := s.client
	if len(s.round) == 0 {
		first := s.last
		if s.session != nil && s.session.at != nil {
			first = s.session.at
		}
		if first != nil {
			s.round = append(s.round, first)
		}
		for _, m := range c.places {
			if m != first {
				s.round = append(s.round, m)
			}
		}
	}
	place := s.round[0]
	s.round = s.round[1:]
	s.next = protocol.Never
	s.link, s.welcomed = c.world.connect(c, place), false
	s.silence = now + s.attempt()
	if s.link.broken { // refused: nobody listens there
		s.detach()
		s.retry(now + c.world.between(time.Millisecond, 5*time.Millisecond))
		return
	}
	s.hello(now)
}

// attempt leaves time for another place before the session ends.
func (s *stream) attempt() time.Duration {
	if s.session != nil && s.session.ttl > 0 {
		return min(max(s.session.ttl/4, minAttempt), maxAttempt)
	}
	return maxAttempt
}

// retry goes on with the round, or makes a pause when all have been tried.
func (s *stream) retry(now time.Duration) {
	if len(s.round) > 0 {
		s.next = now
		return
	}
	s.next = now + s.pause/2 + s.client.world.below(s.pause/2)
	s.pause = min(2*s.pause, maxPause)
}

func (s *stream) hello(now time.Duration) {
	op := operation{kind: opHello, ttl: s.client.ttl}
	s.sent, s.helloed = now, s.session
	if s.session != nil {
		op.session, op.secret = s.session.id, s.session.secret
		op.last = s.lastID
		for _, r := range s.requests {
			if r.state != settled {
				op.requests = append(op.requests, r.id)
			}
		}
	}
	s.link.say(op)
}

// detach forgets the connection and what depends on it.
func (s *stream) detach() {
	s.link, s.welcomed, s.helloed = nil, false, nil
	s.beats = s.beats[:0]
	s.beatAt, s.silence = protocol.Never, protocol.Never
}

// broken is called when the connection has ended.
func (s *stream) broken(l *link) {
	if s.link != l {
		return
	}
	welcomed := s.welcomed
	s.detach()
	if welcomed {
		s.pause, s.round = minPause, s.round[:0]
	}
	s.retry(s.client.now())
}

func (s *stream) say(op operation) {
	if s.welcomed {
		s.link.say(op)
	}
}

// hear takes what a member has told.
func (s *stream) hear(l *link, events []event) {
	now := s.client.now()
	for i := range events {
		ev := &events[i]
		switch {
		case s.link != l:
			return
		case !s.welcomed && ev.kind == evWelcome:
			s.endLost(events[1:])
			if !s.onWelcome(now, ev) {
				return
			}
		case !s.welcomed:
			s.onFirst(ev)
		default:
			s.onEvent(now, ev)
		}
	}
	s.compact()
}

// endLost ends the locks whose loss comes with a welcome, before that renews the
// session (Client.endLost).
func (s *stream) endLost(events []event) {
	for i := range events {
		if ev := &events[i]; ev.kind == evLost {
			if r := s.find(ev.id); r != nil && r.state == held && s.helloed == s.session {
				s.end(r, ev.why)
			}
		}
	}
}

// onWelcome opens or renews the session.
func (s *stream) onWelcome(now time.Duration, ev *event) bool {
	c := s.client
	if s.helloed != s.session || ev.span <= 0 || s.session != nil && ev.session != s.session.id {
		s.giveUp()
		return false
	}
	if s.session == nil {
		s.session = &presence{client: c, id: ev.session, secret: ev.secret}
	}
	s.welcomed, s.silence, s.pause, s.round = true, protocol.Never, minPause, s.round[:0]
	s.last, s.session.at, s.session.unknown = s.link.member, s.link.member, nil
	if !s.acknowledged(now, s.sent, ev.span) {
		return false
	}
	s.refill(now)
	s.beatAt = s.sent + max(time.Millisecond, ev.span/4)
	return true
}

// onFirst takes the refusal of a hello. A session that its own member does not know is
// lost; another's word is not believed before the deadline, unless all say so
// (Client.onFirst).
func (s *stream) onFirst(ev *event) {
	p := s.helloed
	if ev.kind != evRefused || p == nil || s.session != p || !errors.Is(ev.err, session.ErrUnknown) {
		return
	}
	if p.unknown == nil {
		p.unknown = map[*member]bool{}
	}
	p.unknown[s.link.member] = true
	if s.link.member == p.at || len(p.unknown) >= len(s.client.places) {
		s.lose()
	}
}

// acknowledged renews the session by the answer to what was sent at the time sent.
func (s *stream) acknowledged(now, sent, ttl time.Duration) bool {
	if !s.session.renew(now, sent, ttl) {
		s.lose()
		return false
	}
	s.lateAt = s.session.anchor + ttl/2
	return true
}

// lose ends the session: its locks are lost, and what still waits is asked for again
// in the next one (Client.lose).
func (s *stream) lose() {
	if s.session == nil {
		return
	}
	c := s.client
	c.world.trace("%s has lost session %v", c, s.session.id)
	s.session.over = true
	s.session, s.lateAt = nil, protocol.Never
	for _, r := range s.requests {
		switch r.state {
		case asked:
			r.waiting, r.unsent = false, true
		case held:
			s.end(r, holdfast.SessionExpired)
			s.settle(r)
		default:
			s.settle(r)
		}
	}
	s.compact()
	s.giveUp()
	s.next = c.now()
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
