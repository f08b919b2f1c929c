package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
)

// How a client connects: what package client does with gRPC. Links stand for streams and their connections.

// linkOf is the link that a contact asks on.
func linkOf(a *clientsession.Contact) *link { return a.Caller.(*link) }

// asks reports whether a link is asked, and is not served yet.
func (s *stream) asks(l *link) bool { return slices.Contains(s.asked, l) }

// leave takes a link from those that are asked.
func (s *stream) leave(l *link) {
	s.asked = slices.DeleteFunc(s.asked, func(other *link) bool { return other == l })
}

// ask asks a member for a stream.
func (s *stream) ask(a *clientsession.Contact) {
	c := s.client
	at := slices.IndexFunc(c.places, func(m *process) bool { return placeOf(m) == a.Place })
	l := c.world.connect(c, c.places[at])
	a.Caller, l.contact = l, a
	s.asked = append(s.asked, l)
	if l.broken { // no process listens there
		c.world.tape.begin(c.name, "refused")
		s.failsAfter(c.world.between("after", time.Millisecond, 5*time.Millisecond), l, errRefused)
		return
	}
	l.upward("connect")
	l.phase = c.world.below("phase", time.Second)
	s.step(clientsession.Event{Kind: clientsession.Opening, Contact: a})
	s.greet(l)
}

// Why there is no answer.
var (
	errRefused error = clientsession.Unheard{Err: errors.New("connection refused")}
	errBroken  error = clientsession.Unheard{Err: errors.New("the connection is broken")}
)

// greet says hello.
func (s *stream) greet(l *link) {
	l.helloed = s.client.world.now
	s.step(clientsession.Event{Kind: clientsession.Greet, Contact: l.contact})
}

// failed tells that a contact has come to nothing.
func (s *stream) failed(l *link, err error) {
	if s.asks(l) {
		s.leave(l)
		l.sever(clientEnd)
		s.step(clientsession.Event{Kind: clientsession.Failed, Contact: l.contact, Err: err})
	}
}

// letGo ends a contact: after a while, in which a session that it opens is ended.
func (s *stream) letGo(l *link, while time.Duration) {
	if while > 0 {
		s.failsAfter(while, l, clientsession.ErrSilent)
		return
	}
	s.failed(l, clientsession.ErrSilent)
}

// refuse leaves a link whose answer is not taken. The session that it has opened is ended before.
func (s *stream) refuse(l *link, e *clientsession.Effect) {
	if !e.Opened {
		s.failed(l, e.Err)
		return
	}
	l.refusal = e.Err
	l.say(operation{Operation: &schema.Operation{Id: 1, Kind: &schema.Operation_End{End: &schema.End{}}}})
	s.failsAfter(clientsession.CloseLimit, l, e.Err)
}

// broken takes the end of a link, with what its status says; nil is the end in good order.
func (s *stream) broken(l *link, status error) {
	switch {
	case l == s.link:
		s.link = nil
		s.step(clientsession.Event{Kind: clientsession.Broken, Contact: l.contact, Err: status})
	case l.refusal != nil:
		s.failed(l, l.refusal)
	case status == nil:
		s.failed(l, errBroken)
	default:
		s.failed(l, status)
	}
}
