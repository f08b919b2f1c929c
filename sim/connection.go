package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
)

// How a client connects: the part of package client that uses gRPC. Links stand for streams and their connections.

// linkOf is the link of a contact.
func linkOf(a *clientsession.Contact) *link { return a.Caller.(*link) }

// asks reports whether the client has asked on a link that does not serve it yet.
func (s *stream) asks(l *link) bool { return slices.Contains(s.asked, l) }

// leave removes a link from those asked.
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

// Reasons for no answer.
var (
	errRefused error = clientsession.Unheard{Err: errors.New("connection refused")}
	errBroken  error = clientsession.Unheard{Err: errors.New("the connection is broken")}
)

// greet says hello.
func (s *stream) greet(l *link) {
	l.helloed = s.client.world.now
	s.step(clientsession.Event{Kind: clientsession.Greet, Contact: l.contact})
}

// failed reports that a contact has failed.
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

// refuse drops a link whose answer is rejected, after the session that it has opened is ended.
func (s *stream) refuse(l *link, e *clientsession.Effect) {
	if !e.Opened {
		s.failed(l, e.Err)
		return
	}
	l.refusal = e.Err
	l.say(operation{Operation: &schema.Operation{Id: 1, Kind: &schema.Operation_End{End: &schema.End{}}}})
	s.failsAfter(clientsession.CloseLimit, l, e.Err)
}

// broken handles the end of a link, with its status; nil is an orderly end.
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
