package sim

import (
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// How a client stays connected: package client's connection.go and places.go, with one
// thing at a time instead of goroutines. While the stream that is served is doubted there
// are two: what is told on that one counts until the other is welcomed, and what is said
// is said on that one.

// Pauses between rounds of connecting, and how long one member may take to answer a
// hello (client: minPause, maxPause, minAttempt, maxAttempt).
const (
	minPause   = 10 * time.Millisecond
	maxPause   = time.Second
	minAttempt = 500 * time.Millisecond
	maxAttempt = 5 * time.Second
)

// attempt is a connection on which hello was said, and that is not welcomed
// (Client.greet).
type attempt struct {
	link    *link      // nil while there is none
	at      instant    // when hello was said
	helloed *presence  // the session that the hello names, or nil
	listed  []*request // by the hello, as not settled
	sent    time.Duration
	silence time.Duration // when the member has taken too long to answer
}

func noAttempt() attempt { return attempt{silence: protocol.Never} }

// search goes from place to place (Client.run, round).
type search struct {
	places    []*process    // of this round, that remain
	began     *presence     // the session, when the round began
	next      time.Duration // when to go to the next; Never while an attempt or the stream decides
	pause     time.Duration // before the next round
	skipPause bool          // instead of the next pause (Client.hurry)
	last      *process      // that has welcomed last
}

// answering is Client.answering.
func (s *stream) answering() bool { return s.link != nil && !s.doubted }

// hasten ends the pause before the next connection, or leaves out the one after the
// round that is under way (Client.hasten).
func (s *stream) hasten(now time.Duration) {
	if s.attempt.link != nil || len(s.search.places) > 0 {
		s.search.skipPause = true
		return
	}
	s.search.next = now
}

// attend goes to the next place, of another round if need be (Client.run, attend).
func (s *stream) attend(now time.Duration) {
	c, q := s.client, &s.search
	q.next = protocol.Never
	if len(q.places) == 0 {
		if s.answering() || s.closing && s.session == nil {
			return
		}
		q.places, q.began = s.places(), s.session
	}
	place := q.places[0]
	q.places = q.places[1:]
	l := c.world.connect(c, place)
	if l.broken { // refused: no process listens there
		c.world.tape.begin(c.name, "refused")
		s.retry(now + c.world.between("after", time.Millisecond, 5*time.Millisecond))
		return
	}
	s.attempt = attempt{link: l, at: c.world.now, helloed: s.session, sent: now, silence: now + s.attemptLimit()}
	s.hello()
}

// places lists where to go: first where the session is (Client.places).
func (s *stream) places() []*process {
	first := s.search.last
	if s.session != nil && s.session.at != nil {
		first = s.session.at
	}
	var all []*process
	if first != nil {
		all = append(all, first)
	}
	for _, m := range s.client.places {
		if m != first {
			all = append(all, m)
		}
	}
	return all
}

// attemptLimit leaves time for another place before the session ends
// (Client.attemptLimit).
func (s *stream) attemptLimit() time.Duration {
	if s.session != nil && s.session.ttl > 0 {
		return min(max(s.session.ttl/4, minAttempt), maxAttempt)
	}
	return maxAttempt
}

// hello is Client.hello. What is not settled now may be when it is answered.
func (s *stream) hello() {
	op := operation{kind: opHello, ttl: s.client.ttl, number: s.client.drawn()}
	if s.session != nil {
		op.session, op.secret, op.generation = s.session.id, s.session.secret, s.session.generation
		if !s.session.taken {
			op.last = s.lastID
		}
		for _, r := range s.requests {
			if r.state != settled {
				op.requests = append(op.requests, r.id)
				s.attempt.listed = append(s.attempt.listed, r)
			}
		}
	}
	s.attempt.link.say(op)
}

// failed ends an attempt that has come to nothing.
func (s *stream) failed(now time.Duration) {
	s.attempt.link.sever(clientEnd)
	s.attempt = noAttempt()
	s.retry(now)
}

// retry goes on with the round, unless the session that it began with has ended, and
// makes a pause when no member is left to go to (Client.onFailed, run).
func (s *stream) retry(now time.Duration) {
	q := &s.search
	if s.session != q.began {
		q.places = nil
	}
	q.next = now
	if len(q.places) > 0 {
		return
	}
	if !q.skipPause {
		s.client.world.tape.begin(s.client.name, "retries")
		q.next += q.pause/2 + s.client.world.below("after", q.pause/2)
	}
	q.skipPause = false
	q.pause = min(2*q.pause, maxPause)
}

// detach forgets the stream and what depends on it (Client.detach).
func (s *stream) detach() {
	s.link, s.doubted = nil, false
	s.beats = s.beats[:0]
	s.beatAt = protocol.Never
}

// hangUp ends the stream, if there is one (Client.hangUp).
func (s *stream) hangUp() {
	if l := s.link; l != nil {
		l.sever(clientEnd)
		s.detach()
	}
}

// broken is called when a connection has ended. Where another is sought already that goes
// on (Client.onBroken, run).
func (s *stream) broken(l *link) {
	now := s.client.now()
	switch l {
	case s.attempt.link:
		s.attempt = noAttempt()
		s.retry(now)
	case s.link:
		trusted := s.answering() && s.attempt.link == nil
		s.detach()
		if trusted {
			s.search.pause, s.search.places = minPause, nil
			s.retry(now)
		}
	}
}

// hear takes what a member has told on one of the streams.
func (s *stream) hear(l *link, events []event) {
	now := s.client.now()
	if l == s.attempt.link {
		events = s.onHello(now, events)
	}
	for i := range events { // Client.onFrame
		if s.link != l {
			break
		}
		s.onEvent(now, &events[i])
	}
	s.compact()
}

// onHello takes the answer to a hello, and returns what is told after it (Client.onHello).
func (s *stream) onHello(now time.Duration, events []event) []event {
	first := &events[0]
	if first.kind == evWelcome {
		s.endLost(events[1:])
		s.onWelcome(now, first)
		return events[1:]
	}
	s.onFirst(first)
	s.failed(now)
	return nil
}

// endLost ends the locks whose loss comes with a welcome, before that renews the
// session (Client.endLost).
func (s *stream) endLost(events []event) {
	for i := range events {
		if ev := &events[i]; ev.kind == evLost {
			if r := s.find(ev.id); r != nil && r.state == held && s.attempt.helloed == s.session {
				s.end(r, ev.why)
			}
		}
	}
}

// onWelcome opens or renews the session. The stream that was served till then, if one
// was, is over (Client.onWelcome).
func (s *stream) onWelcome(now time.Duration, ev *event) {
	a := s.attempt
	if a.helloed != s.session || ev.span <= 0 || s.session != nil && ev.session != s.session.id {
		s.failed(now)
		return
	}
	if s.session == nil {
		s.session = &presence{client: s.client, id: ev.session, secret: ev.secret, tenure: ev.tenure}
	}
	s.hangUp()
	s.link, s.attempt = a.link, noAttempt()
	s.search = search{last: a.link.member, next: protocol.Never, pause: minPause}
	s.session.at, s.session.unknown, s.session.generation = a.link.member, nil, ev.generation
	s.client.world.judge.renews(s.session.id, s.client, a.at)
	if s.acknowledged(now, a.sent, ev.span) {
		s.cancelRefused(a.listed)
		s.refill(now)
		s.beatAt = a.sent + max(time.Millisecond, ev.span/4)
	}
}

// onFirst takes the refusal of a hello. A session that its own member does not know is
// lost; another's word is not believed before the deadline, unless all say so
// (Client.onFirst).
func (s *stream) onFirst(ev *event) {
	p, at := s.attempt.helloed, s.attempt.link.member
	if ev.kind == evRefused && p != nil && s.session == p && errors.Is(ev.err, session.ErrTakenOver) {
		s.client.world.count.hits[inheritedLate]++
		s.onTakenOver()
		return
	}
	if ev.kind != evRefused || p == nil || s.session != p || !errors.Is(ev.err, session.ErrUnknown) {
		return
	}
	if p.unknown == nil {
		p.unknown = map[*process]bool{}
	}
	p.unknown[at] = true
	if at == p.at || len(p.unknown) >= len(s.client.places) {
		s.lose()
	}
}
