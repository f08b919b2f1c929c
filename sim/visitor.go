package sim

import (
	"cmp"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// visitor is a user of HTTP: curl, or `holdfast acquire`. Each of its calls is a separate connection to one member, and
// its session is a OneShot. It believes in its lock for the ttl of the latest answer, counted from the sending of its
// request (docs/design/formats.md §1). Where sessions outlast their members, again.go describes its calls.
type visitor struct {
	world *world
	name  string
	clock dial
	place *process
	ttl   time.Duration

	act     int // the call, in the names of choices
	round   int // number of the wanted lock; messages about an earlier one are void
	want    wantedLock
	session lock.SessionID
	secret  session.Secret
	token   holdfast.Token
	held    bool
	until   time.Duration // end of its belief, on its clock
	hold    time.Duration // when its hold limit ends
	request uint64

	// For repeated calls: the latest one, how often the call has been made, the first request of a member for it and
	// the round of that request, and the latest round that was granted.
	current *visit
	calls   int
	first   requestKey
	firstOf int
	was     int
}

func newVisitor(w *world, name string) *visitor {
	w.within(name, "machine", 0)
	clock := w.dial()
	return &visitor{world: w, name: name, clock: clock, ttl: w.anyTTL("ttl")}
}

func (s *visitor) String() string { return s.name }

func (s *visitor) now() time.Duration { return s.clock.read(s.world.now) }

// visit is one connection of a visitor: the part of a member's edge, and whether the visitor still waits.
type visit struct {
	visitor *visitor
	round   int
	about   visitor // a copy at the time of sending
	member  *process
	life    uint32
	sent    time.Duration // on the visitor's clock
	arrived protocol.Time // on the member's clock
	sink    uint64
	request uint64
	answer  func(*protocol.Reply) // handles the next reply
	over    bool
	eventID uint32 // its number in the timeline

	broken   bool // its visitor no longer reads it
	gone     bool // and its member knows that
	answered bool // its member has answered, or has given up the request
}

// plan schedules the visitor's next lock after a pause, unless it does something else before.
func (s *visitor) plan(pause func() time.Duration) {
	w := s.world
	at, act, comes := w.call(s.name, w.now, pause)
	switch round := s.round; {
	case !comes:
	case at == w.now:
		s.act = act
		s.begin()
	default:
		w.do(at, func() {
			if s.round == round {
				s.act = act
				s.begin()
			}
		})
	}
}

// begin asks for a lock.
func (s *visitor) begin() {
	w := s.world
	if w.settling {
		return
	}
	s.round++
	w.within(s.name, "call", s.act)
	s.place = pick(w, "member", w.members)
	s.want = w.request(nil)
	s.held, s.current, s.calls = false, nil, 0
	w.trace("%s wants %v through %s", s, s.want, s.place)
	if w.protocol.Logs {
		s.visit("open", (*visit).open)
	} else {
		s.visit("acquire", (*visit).acquire)
	}
	round := s.round
	w.within(s.name, "call", s.act)
	w.do(w.now+w.between("gives-up", 5*time.Second, 12*time.Second), func() { // it gives up, and tries again elsewhere
		if s.round == round && !s.held {
			s.round++
			if s.current != nil {
				s.current.breaks()
			}
			s.plan(func() time.Duration { return 0 })
		}
	})
}

// visit sends a request with a name; it may be lost.
func (s *visitor) visit(what string, do func(*visit)) *visit {
	w := s.world
	v := &visit{visitor: s, round: s.round, about: *s, member: s.place, life: s.place.life, sent: s.now()}
	v.eventID = w.reporter.posted(v, what)
	w.tape.begin(s.name, "visit")
	if w.odds("lost", w.weather.loss) {
		w.hit(Loss)
		w.reporter.lost(v.eventID, "lost")
		return v
	}
	w.do(w.now+w.latency(), func() { v.arrive(do) })
	return v
}

func (v *visit) arrive(do func(*visit)) {
	m, w := v.member, v.visitor.world
	switch {
	case !m.up || m.life != v.life:
		w.reporter.lost(v.eventID, "the receiver is down")
	case m.paused:
		w.do(w.now+100*time.Millisecond, func() { v.arrive(do) })
	default:
		w.reporter.delivered(v.eventID)
		v.arrived = m.now()
		v.sink = m.attach(v)
		do(v)
	}
}

// call steps the member, and passes the answer to then, after the step.
func (v *visit) call(port protocol.Port, fact any, then func(*protocol.Reply)) {
	v.answer = then
	op := uint64(1)
	if r, is := fact.(*lock.Request); is {
		op = r.ID
	}
	v.member.step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: v.sink, Op: op}, Fact: fact})
}

// hear takes a reply. Queued is not an answer: the connection still waits.
func (v *visit) hear(reply *protocol.Reply) {
	if reply.Result == nil && reply.Decision.Kind == lock.Queued || v.answer == nil {
		return
	}
	then, kept := v.answer, *reply
	v.answer = nil
	v.visitor.world.do(v.visitor.world.now, func() {
		if v.member.up && v.member.life == v.life {
			then(&kept)
		}
	})
}

// acquire is POST acquire: it opens a session, takes the lock, and answers with the ttl of both.
func (v *visit) acquire() {
	s := &v.about
	v.call(protocol.Below, &session.Open{Kind: session.OneShot, TTL: s.ttl}, func(reply *protocol.Reply) {
		opened, ok := reply.Result.(*session.Opened)
		if !ok || opened.Err != nil {
			v.close()
			return
		}
		v.request = 1<<55 | uint64(v.round)
		s.world.judge.requested(requestKey{opened.ID, v.request}, v.visitor, s.want)
		r := &lock.Request{
			Session: opened.ID, ID: v.request, Name: s.want.name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: s.want.mode, Units: s.want.units, Capacity: s.want.capacity}, Hold: s.want.hold},
			Try: s.want.try || s.want.wait == 0, Arrived: v.arrived, WaitEnd: v.arrived + s.want.wait,
		}
		v.call(userSpace, r, func(reply *protocol.Reply) { v.decided(opened, reply) })
	})
}

// decided handles the outcome of the request: a grant is reported with the rest of the session's ttl.
func (v *visit) decided(opened *session.Opened, reply *protocol.Reply) {
	d := reply.Decision
	if d.Kind != lock.Granted {
		v.undo(opened)
		return
	}
	v.call(protocol.Below, &session.Renew{ID: opened.ID, Secret: opened.Secret, TTL: v.about.ttl, Arrived: v.arrived}, func(reply *protocol.Reply) {
		renewed, ok := reply.Result.(*session.Renewed)
		if !ok || renewed.Err != nil || len(renewed.Lost) > 0 {
			v.undo(opened)
			return
		}
		v.close()
		v.back("granted", func() { v.visitor.granted(v, opened, &d, renewed.TTL.Truncate(time.Millisecond)) })
	})
}

// undo takes back the request, and ends the session.
func (v *visit) undo(opened *session.Opened) {
	w := v.visitor.world
	if v.request != 0 {
		w.judge.leaves(v.about.want.name, requestKey{opened.ID, v.request})
	}
	v.call(protocol.Below, &session.End{ID: opened.ID, Proven: true}, func(*protocol.Reply) { v.close() })
}

// close drops the sink.
func (v *visit) close() {
	if !v.over {
		v.over = true
		v.member.detach(v.sink)
	}
}

// back carries an answer with a name to the visitor.
func (v *visit) back(what string, then func()) {
	w, s := v.visitor.world, v.visitor
	eventID := w.reporter.returned(v, what)
	w.tape.begin(s.name, "answer")
	if w.odds("lost", w.weather.loss) {
		w.hit(Loss)
		w.reporter.lost(eventID, "lost")
		return
	}
	w.do(w.now+w.latency(), func() {
		w.reporter.delivered(eventID)
		if s.round == v.round && !v.broken {
			then()
		}
	})
}

// granted starts the visitor's belief, for the ttl that counts from the sending of the request.
func (s *visitor) granted(v *visit, opened *session.Opened, d *lock.Decision, ttl time.Duration) {
	w := s.world
	now := s.now()
	s.session, s.secret, s.token, s.request = opened.ID, opened.Secret, d.Token, v.request
	s.until, s.hold, s.held = v.sent+ttl, protocol.Never, true
	if d.Hold > 0 {
		s.hold = v.sent + d.Hold
	}
	if !s.believes(now) {
		s.held = false
		s.rest()
		return
	}
	w.trace("%s has %s, token %d, for %v from %v on; its clock shows %v", s, s.want.name, s.token, ttl, v.sent, now)
	w.judge.noteHolder(s.grant())
	w.count.grants++
	round := s.round
	w.within(s.name, "call", s.act)
	w.do(w.now+w.hold(), func() {
		if s.round == round {
			s.release()
		}
	})
	s.renewLater(round, ttl)
}

// renewLater renews the session every third of its ttl.
func (s *visitor) renewLater(round int, ttl time.Duration) {
	w := s.world
	w.do(w.now+ttl/3, func() {
		if s.round == round && s.held && s.believes(s.now()) {
			s.visit("renew", (*visit).renew)
			s.renewLater(round, ttl)
		}
	})
}

// renew is POST renew.
func (v *visit) renew() {
	s := &v.about
	v.call(protocol.Below, &session.Renew{ID: s.session, Secret: s.secret, TTL: s.ttl, Arrived: v.arrived}, func(reply *protocol.Reply) {
		v.close()
		if renewed, ok := reply.Result.(*session.Renewed); ok {
			v.back("renewed", func() { v.visitor.renewed(v, renewed) })
		}
	})
}

func (s *visitor) renewed(v *visit, renewed *session.Renewed) {
	switch {
	case !s.held || !s.believes(s.now()):
	case renewed.Err == nil && len(renewed.Lost) == 0:
		s.until = max(s.until, v.sent+renewed.TTL.Truncate(time.Millisecond))
		s.world.trace("%s is renewed for %v from %v on", s, renewed.TTL, v.sent)
	case !errors.Is(renewed.Err, holdfast.ErrUnavailable):
		why := cmp.Or(holdfast.Why(renewed.Err), holdfast.SessionExpired)
		if len(renewed.Lost) > 0 {
			why = renewed.Lost[0].Decision.Loss
		}
		s.end(why)
		s.rest()
	}
}

// release is POST release, with the token.
func (s *visitor) release() {
	w := s.world
	if s.held {
		w.trace("%s releases %s, token %d", s, s.want.name, s.token)
		s.end("")
		if w.protocol.Logs {
			w.within(s.name, "call", s.act)
			s.place = pick(w, "releases-through", w.members)
		}
		s.visit("release", (*visit).release)
	}
	s.rest()
}

func (v *visit) release() {
	s := &v.about
	v.call(protocol.Below, &session.Check{ID: s.session, Secret: s.secret}, func(reply *protocol.Reply) {
		if checked, ok := reply.Result.(*session.Renewed); !ok || checked.Err != nil {
			v.close()
			return
		}
		v.call(userSpace, &protocol.Release{Session: s.session, Name: s.want.name, Token: s.token}, func(*protocol.Reply) { v.close() })
	})
}

// rest makes a pause before the next lock.
func (s *visitor) rest() {
	s.plan(func() time.Duration { return s.world.rand.between(100*time.Millisecond, 3*time.Second) })
}

func (s *visitor) end(why holdfast.Loss) {
	s.held = false
	s.world.judge.ended(s.grant(), why)
}

func (s *visitor) believes(now time.Duration) bool { return s.held && now < s.until && now < s.hold }

func (s *visitor) believesAt(at instant) bool { return s.believes(s.clock.read(at)) }

func (s *visitor) grant() grant {
	return grant{
		name: s.want.name, mode: s.want.mode, units: s.want.units, capacity: s.want.capacity, token: s.token,
		session: s.session, request: s.request, who: s, holder: s,
	}
}
