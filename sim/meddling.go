package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In half of the runs with operators, third parties have the credentials of a client's session: they release its holds,
// or end its session, while it works. Each does so in a call of its own, like `holdfast release`, curl and Admin of
// package client.

// drawMeddling draws whether and how often third parties meddle, from its own source of chance.
func (s *settings) drawMeddling(c *Config, r dice) {
	drawn, every := r.IntN(2) == 0, 300*time.Millisecond+r.below(4*time.Second)
	if drawn && c.Protocol.Locks && s.faults.Has(Operator) {
		s.meddles = every
	}
}

// Rows of coverage for meddling.
var (
	meddledReleased = mark{"foreign", "release"}
	meddledEnded    = mark{"foreign", "end of a session"}
	meddledRefused  = mark{"foreign", "refusal"}
)

// meddle makes a third party with the credentials of a client's session release a lock that it holds, or end the
// session: through the session's member or, if the session outlasts members, through any.
func (n *nemesis) meddle() {
	w := n.world
	c := pick(w, "client", w.clients)
	ends := w.oneIn("ends", 4)
	m, p := n.member("through"), c.stream.session
	if !c.up || p == nil || p.at == nil {
		return
	}
	if !w.protocol.Logs {
		m = p.at
	}
	var fact any = &session.End{ID: p.id, Secret: p.secret}
	port, what := protocol.Below, "ends its session"
	if !ends {
		r := c.stream.held()
		if r == nil {
			return
		}
		port, fact, what = userSpace, &protocol.Release{Session: p.id, Name: r.want.name, Token: r.Token()}, "releases "+r.want.name
	}
	w.befall(Operator, 0, []string{m.name, c.name}, "another client with the credentials of %s %s through %s", c, what, m)
	life := m.life
	w.do(w.now+w.between("after", 100*time.Microsecond, w.weather.latency), func() {
		if m.up && !m.paused && m.life == life {
			w.hit(Operator)
			m.callFor(p, port, fact)
		}
	})
}

// held is the first lock that a client believes it holds.
func (s *stream) held() *request {
	for _, r := range s.requests() {
		if r.believes(s.client.now()) {
			return r
		}
	}
	return nil
}

// callFor makes a call about a session as package server does: its secret is checked first, unless the call proves it
// itself.
func (m *process) callFor(p *presence, port protocol.Port, fact any) {
	w, life, sink := m.world, m.life, uint64(0)
	step := func() {
		m.step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: sink, Op: 1}, Fact: fact})
	}
	done := func() {
		if m.up && m.life == life {
			m.detach(sink)
		}
	}
	sink = m.attach(sinkFunc(func(reply *protocol.Reply) {
		w.trace("%s answers the other client: %v", m, answerOf(w, reply))
		then := done
		if checked, is := reply.Result.(*session.Renewed); is && checked.Err == nil {
			then = func() {
				if m.up && m.life == life && !m.paused {
					step()
				}
			}
		}
		w.do(w.now, then)
	}))
	if port == protocol.Below {
		step()
		return
	}
	m.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: sink, Op: 1}, Fact: &session.Check{ID: p.id, Secret: p.secret}})
}

// answerOf counts an answer to a meddler, and describes it for people.
func answerOf(w *world, reply *protocol.Reply) any {
	switch result := reply.Result.(type) {
	case *session.Renewed:
		return result.Err
	case *session.Ended:
		if result.Err != nil {
			w.count.hits[meddledRefused]++
			return result.Err
		}
		w.count.hits[meddledEnded]++
		return "ended"
	}
	if reply.Decision.Kind == lock.Released {
		w.count.hits[meddledReleased]++
		return reply.Decision.Kind
	}
	w.count.hits[meddledRefused]++
	return reply.Decision.Err
}
