package sim

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Where sessions outlast their members, a visitor first opens a session, and then asks for its lock with an id. When no
// answer comes for a while it abandons the member and makes the same call to another one. The abandoned member notices
// later, and takes back the unanswered request. So a lock is asked for through several members at a time, under
// different numbers, and must be granted once (P6).

// Rows of coverage for repeated calls.
var (
	againCalled    = mark{"call", "made once more"} // through another member, or the same one
	againGranted   = mark{"call", "granted when made once more"}
	againOvertaken = mark{"call", "given up behind the grant of another one"}
)

// open opens the visitor's session first.
func (v *visit) open() {
	v.call(protocol.Below, &session.Open{Kind: session.OneShot, TTL: v.about.ttl}, func(reply *protocol.Reply) {
		v.close()
		if opened, ok := reply.Result.(*session.Opened); ok && opened.Err == nil {
			v.back("opened", func() {
				v.visitor.session, v.visitor.secret = opened.ID, opened.Secret
				v.visitor.acquire()
			})
		}
	})
}

// acquire makes the call, and repeats it at another member if no answer comes.
func (s *visitor) acquire() {
	w, round := s.world, s.round
	v := s.visit("acquire", (*visit).acquireOnce)
	s.current = v
	s.calls++
	w.within(s.name, "call", s.act)
	w.do(w.now+w.between("turns-away", 50*time.Millisecond, 1500*time.Millisecond), func() {
		if s.round != round || s.current != v || w.settling {
			return
		}
		v.breaks()
		w.within(s.name, "call", s.act)
		s.place = pick(w, "another", w.members)
		w.count.hits[againCalled]++
		s.acquire()
	})
}

// acquireOnce is POST acquire with a session and an id.
func (v *visit) acquireOnce() {
	s := &v.about
	v.call(protocol.Below, &session.Renew{ID: s.session, Secret: s.secret, TTL: s.ttl, Arrived: v.arrived}, func(reply *protocol.Reply) {
		if renewed, ok := reply.Result.(*session.Renewed); !ok || renewed.Err != nil {
			v.close()
			return
		}
		v.call(protocol.Below, &session.Number{ID: s.session, Count: 1}, func(reply *protocol.Reply) {
			numbered, ok := reply.Result.(*session.Numbered)
			if !ok || numbered.First == 0 || v.gone {
				v.close()
				return
			}
			v.request = numbered.First
			v.recordRequest()
			r := &lock.Request{
				Session: s.session, ID: v.request, Name: s.want.name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: s.want.mode, Units: s.want.units, Capacity: s.want.capacity}, Hold: s.want.hold},
				Try: s.want.try || s.want.wait == 0, Arrived: v.arrived, WaitEnd: v.arrived + s.want.wait,
				Once: fmt.Sprint(v.round), Content: 1,
			}
			v.call(userSpace, r, v.decidedOnce)
		})
	})
}

// recordRequest reports the request to the judge, as the same as the first one of the call.
func (v *visit) recordRequest() {
	s, key := v.visitor, requestKey{v.about.session, v.request}
	s.world.trace("%s asks for %s through %s as request %d of session %v", s, v.about.want.name, v.member, v.request, v.about.session)
	if s.firstOf == v.round {
		s.world.judge.repeated(key, s.first)
		return
	}
	s.first, s.firstOf = key, v.round
	s.world.judge.requested(key, s, v.about.want)
}

// decidedOnce handles the outcome of the request.
func (v *visit) decidedOnce(reply *protocol.Reply) {
	s, d := &v.about, reply.Decision
	v.visitor.once(v, &d)
	if d.Kind != lock.Granted {
		v.answered = true
		v.close()
		return
	}
	opened := &session.Opened{ID: s.session, Secret: s.secret}
	v.call(protocol.Below, &session.Renew{ID: s.session, Secret: s.secret, TTL: s.ttl, Arrived: v.arrived}, func(reply *protocol.Reply) {
		renewed, ok := reply.Result.(*session.Renewed)
		if !ok || renewed.Err != nil || len(renewed.Lost) > 0 {
			v.takeBack()
			return
		}
		v.answered = true
		v.close()
		v.back("granted", func() {
			s := v.visitor
			s.granted(v, opened, &d, renewed.TTL.Truncate(time.Millisecond))
			s.current = nil // it no longer makes the call
			if s.held {
				s.was = v.round
			}
			if s.held && s.calls > 1 {
				s.world.count.hits[againGranted]++
			}
		})
	})
}

// once checks P6 for a member's decision about a call: a lock granted to the visitor is not granted again, regardless
// of how often the visitor has made the call and of what has become of the lock since.
func (s *visitor) once(v *visit, d *lock.Decision) {
	if d.Kind == lock.Granted && s.was == v.round && s.token != d.Token {
		s.world.judge.violate("P6", "call %d of %v acts twice: it was granted %q under token %d, and then under %d", v.round, s, d.Name, s.token, d.Token)
	}
}

// breaks stops the visitor from reading this connection. The member notices later.
func (v *visit) breaks() {
	if v.broken {
		return
	}
	v.broken = true
	w := v.visitor.world
	w.within(v.visitor.name, "call", v.about.act)
	w.do(w.now+w.length("notices", 100*time.Millisecond, func() time.Duration { return w.rand.below(4 * time.Second) }), v.notice)
}

// notice makes a member notice that its client has gone.
func (v *visit) notice() {
	v.gone = true
	if m := v.member; !m.up || m.life != v.life || v.over || v.answered {
		return // no process is there to notice, or the request is answered
	} else if m.paused {
		v.visitor.world.do(v.visitor.world.now+100*time.Millisecond, v.notice)
		return
	}
	if v.request == 0 {
		return // the request is not sent yet, and will not be
	}
	if s := v.visitor; s.held && s.was == v.round {
		s.world.count.hits[againOvertaken]++
	}
	v.takeBack()
}

// takeBack gives up the request of this connection.
func (v *visit) takeBack() {
	v.answered = true
	v.visitor.world.trace("%s gives up request %d of session %v for %s", v.member, v.request, v.about.session, v.visitor)
	v.call(userSpace, &protocol.Cancel{Session: v.about.session, Name: v.about.want.name, Request: v.request}, func(*protocol.Reply) { v.close() })
}
