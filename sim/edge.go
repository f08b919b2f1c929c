package sim

import (
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// server is a member's end of a link. It drives package edge as package server drives it for a stream: one event at a
// time; calls that wait for others continue later. The last answers on a stream may be lost with its connection.
type server struct {
	link    *link
	machine edge.Machine
	box     edge.Outbox
	sink    uint64
	session lock.SessionID
	tenure  protocol.Tenure // of the member, when it opened the session
	arrived protocol.Time   // the hello
	greeted bool
	over    bool // no more events are sent
}

// serving is the state that all members' servers share, and their memory.
type serving struct {
	config   edge.Config
	roster   edge.Roster
	effects  edge.Effects
	greeting edge.Effects
	batch    []edge.Outgoing

	operations [1]*schema.Operation // of the frame being processed
	admission  edge.Admission
	next       edge.Event // the next event of a greeting that continues at once
	replies    [1]protocol.Reply
}

// serve makes the member's end of a link.
func (l *link) serve() {
	config := &l.world.edge.config
	l.server = server{link: l, machine: edge.New(config), box: edge.NewOutbox(config)}
}

// edgeConfig is the configuration that all members' edges share.
func (w *world) edgeConfig() edge.Config {
	space := &edge.Space{Name: holdfast.DefaultSpace, Port: userSpace, Class: holdfast.Fenced, Grace: w.settings.known.Grace > 0}
	return edge.Config{
		Space:     func(string) (*edge.Space, error) { return space, nil },
		SpaceAt:   func(protocol.Port) *edge.Space { return space },
		CheckName: holdfast.CheckName, CheckValue: holdfast.CheckValue,
		Identity: func() (member, cluster string) { return "", "" },
		Explain:  func(err error) error { return err },
		Events:   1 << 20, Bytes: 1 << 30, All: &edge.Together{Most: 1 << 60, Share: 1 << 30},
	}
}

// perform takes a frame with one operation.
func (s *server) perform(op *schema.Operation) {
	m, pool := s.link.member, &s.link.world.edge
	if s.over {
		return
	}
	if op.GetBeat() != nil {
		m.busy.hears(s.session)
	}
	pool.operations[0] = op
	frame := edge.Event{Operations: pool.operations[:]}
	if !s.greeted {
		frame.Caller.Owner = s.link.client.owner()
		s.arrived = m.now()
		s.greet(&frame)
		return
	}
	out := &pool.effects
	s.machine.Step(m.now(), &frame, out)
	s.box.Apply(out)
	for i := range out.Calls {
		m.step(out.Calls[i])
	}
	out.Reset()
	s.send()
}

// greet takes an event of the greeting, and performs the next action.
func (s *server) greet(ev *edge.Event) {
	m, pool := s.link.member, &s.link.world.edge
	out := &pool.greeting
	for ev != nil && !s.over {
		out.Reset()
		s.machine.Step(s.arrived, ev, out)
		ev = nil
		switch do := out.Do; do.Kind { // a copy: an ask may be answered at once, which steps the greeting again
		case edge.Admit:
			s.sink = m.attach(s)
			pool.admission = edge.Admission{Sink: s.sink, Roster: &pool.roster}
			pool.next, ev = edge.Event{Answer: &pool.admission}, &pool.next
		case edge.Check:
			ev = s.check(do.Fact)
		case edge.Occupy:
			m.occupy(s, do.Session, do.Err)
			pool.next, ev = edge.Event{}, &pool.next
		case edge.Ask:
			m.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: s.sink, Op: edge.HelloCall}, Fact: do.Fact})
		case edge.Welcome:
			s.greeted = true
			s.box.Apply(out)
		case edge.Refuse:
			s.box.Refuse(do.Err)
		}
	}
	s.send()
}

// check asks whether the client may continue a session. An answer that comes after the step, from other members,
// continues later.
func (s *server) check(fact any) (now *edge.Event) {
	m := s.link.member
	life, asking := m.life, true
	m.ask(protocol.Below, fact, func(result any) {
		checked := &edge.Event{Answer: result}
		if asking {
			now = checked
			return
		}
		m.world.do(m.world.now, func() {
			if m.up && m.life == life {
				s.greet(checked)
			}
		})
	})
	asking = false
	return now
}

// occupy makes s the stream of a session, and ends the previous one.
func (m *process) occupy(s *server, id lock.SessionID, why error) {
	for _, l := range m.world.links {
		if other := &l.server; l.member == m && l.life == m.life && other != s && other.session == id && other.sink != 0 {
			other.box.End(why)
			other.send()
			m.detach(other.sink)
			other.sink = 0
		}
	}
	s.session = id
}

// hear takes the member's replies for the stream.
func (s *server) hear(reply *protocol.Reply) {
	w := s.link.world
	switch result := reply.Result.(type) {
	case *session.Expired:
		s.link.member.expired(result.ID, result.Err)
	case *session.Opened:
		if result.Err == nil {
			s.tenure = s.link.member.view.Lease.Tenure
		}
	case nil:
		if d := &reply.Decision; d.Kind == lock.Released && s.link.foreign[d.Request] {
			w.judge.foreignReleased(d.Name, d.Token, s.session)
		}
	}
	pool := &w.edge
	pool.replies[0] = *reply
	if answer := s.box.Hear(pool.replies[:]); answer != nil {
		pool.next = edge.Event{Answer: answer}
		s.greet(&pool.next)
		return
	}
	s.send()
}

// send sends the pending answers, and ends the stream when it is over.
func (s *server) send() {
	if s.over {
		return
	}
	pool := &s.link.world.edge
	for pool.batch = s.box.Take(pool.batch); len(pool.batch) > 0; pool.batch = s.box.Take(pool.batch) {
		for rest := pool.batch; len(rest) > 0; {
			frame := s.link.world.frames.member()
			n := frame.Fill(rest, &pool.config, time.Time{})
			s.link.deliver(answer{frame: frame})
			s.box.Sent(rest[:n])
			rest = rest[n:]
		}
	}
	if state, result := s.box.State(); state == edge.Over {
		s.ends(result)
	}
}

// finish ends the stream once all that was sent on it has arrived.
func (s *server) finish() {
	s.box.Finish(nil)
	s.send()
}

// ends ends the stream with a status, which may be lost with the connection.
func (s *server) ends(result error) {
	l, w := s.link, s.link.world
	s.over = true
	switch {
	case errors.Is(result, edge.ErrSuperseded):
		// Earlier messages may still arrive, and count until the later stream is welcomed.
		l.downward("superseded")
		if w.butOneIn("lost", 2) {
			l.sever(neither)
			return
		}
	case holdfast.Why(result) == holdfast.EndedByAnother:
		l.downward("takeover")
		if w.oneIn("lost", 4) {
			l.sever(neither)
			return
		}
		l.deliver(answer{status: result})
	case holdfast.Why(result) == holdfast.SessionExpired:
		l.downward("farewell")
		if w.settings.faults&Later != 0 && !w.oneIn("lost", 4) {
			l.deliver(answer{status: result})
		}
	}
	l.close()
}

// leave drops the session, which lives on until its ttl is over. It happens after the step that calls it.
func (s *server) leave() {
	m, sink := s.link.member, s.sink
	s.over = true
	if sink == 0 {
		return
	}
	s.sink = 0
	m.world.at(m.world.now, task{kind: taskLeave, to: m.place, life: m.life, id: sink})
}

// letGo informs a member that a stream has ended.
func (m *process) letGo(t *task) {
	if m.up && m.life == t.life {
		m.detach(t.id)
	}
}
