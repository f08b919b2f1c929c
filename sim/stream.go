package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stream is a client's session and its connection. It drives package internal/client/session as package client does,
// with links and one event at a time.
type stream struct {
	client   *client
	machine  *clientsession.Machine
	effects  clientsession.Effects
	waiting  []clientsession.Event // events to step: the present one, and those that its effects have caused
	stepping bool
	present  clientsession.Event
	said     [1]*schema.Event // memory of present

	session *presence
	link    *link   // the serving link; nil while there is none
	asked   []*link // links that do not serve yet
	later   []laterFailure
	sent    map[uint64]instant // sending times of heartbeats that may be answered
	renewed instant            // sending time of the message that the present event answers
	foreign uint64             // attempts to release other sessions' holds
}

// foreignIDs starts the ids of releases of other sessions' holds: the machine uses lower ones.
const foreignIDs = 1 << 60

// laterFailure is a contact that fails at a time of the client's clock.
type laterFailure struct {
	at   time.Duration
	link *link
	err  error
}

// newStream makes the stream of a life of a client, with or without a session to take over.
func newStream(c *client, resumes *presence) stream {
	config := clientsession.Config{
		TTL: c.ttl, Name: c.name, Number: c.drawn(), LastID: uint64(c.life) << 32,
		Jitter: func(half time.Duration) time.Duration {
			c.world.tape.begin(c.name, "retries")
			return c.world.below("after", half)
		},
	}
	for _, m := range c.places {
		config.Addresses = append(config.Addresses, placeOf(m))
	}
	if resumes != nil {
		config.Resume = resumes.Session
		if resumes.at != nil {
			config.Addresses = first(config.Addresses, placeOf(resumes.at))
		}
	}
	return stream{client: c, machine: clientsession.New(config), session: resumes, sent: map[uint64]instant{}}
}

// placeOf is the address of a member.
func placeOf(m *process) api.Address { return api.Address{Network: "tcp", Place: m.name} }

// first moves an address to the front.
func first(all []api.Address, place api.Address) []api.Address {
	ordered := []api.Address{place}
	for _, other := range all {
		if other != place {
			ordered = append(ordered, other)
		}
	}
	return ordered
}

// wake is the time of the stream's next act.
func (s *stream) wake() time.Duration {
	at := s.machine.Wake()
	for i := range s.later {
		at = min(at, s.later[i].at)
	}
	return at
}

// tick does what is due.
func (s *stream) tick(now time.Duration) {
	for i := 0; i < len(s.later); {
		l := s.later[i]
		if now < l.at {
			i++
			continue
		}
		s.later = append(s.later[:i], s.later[i+1:]...)
		s.failed(l.link, l.err)
	}
	if now >= s.machine.Wake() {
		s.step(clientsession.Event{Kind: clientsession.Tick})
	}
}

// failsAfter makes a contact fail after a while.
func (s *stream) failsAfter(while time.Duration, l *link, err error) {
	s.later = append(s.later, laterFailure{after(s.client.now(), while), l, err})
}

// connected reports whether there is a stream.
func (s *stream) connected() bool { return s.link != nil }

// step steps the machine with an event, and performs the effects. Events that they cause follow.
func (s *stream) step(ev clientsession.Event) {
	s.waiting = append(s.waiting, ev)
	if s.stepping {
		return
	}
	s.stepping = true
	for i := 0; i < len(s.waiting); i++ {
		s.present = s.waiting[i]
		s.machine.Step(s.client.now(), &s.present, &s.effects)
		for i := 0; i < len(s.effects.List); i++ { // an effect may add others
			e := &s.effects.List[i]
			if e.Request == nil {
				s.react(e)
			} else if r, asked := e.Request.Caller.(*request); asked {
				s.answer(r, e)
			}
		}
		s.effects.Reset()
		s.send()
	}
	clear(s.waiting)
	s.waiting, s.stepping = s.waiting[:0], false
}

// send sends pending messages on the stream, and the hello on a new one.
func (s *stream) send() {
	if a := s.present.Contact; s.present.Kind == clientsession.Greet {
		hello := a.Hello()
		hello.GetHello().Ttl = int64(s.client.ttl)
		linkOf(a).say(operation{Operation: hello})
	}
	for s.link != nil && s.machine.Sending() {
		frame := s.client.world.frames.client()
		s.machine.Fill(s.client.now(), &frame.Frame)
		all := frame.Message.GetOperations()
		frame.left = 1 + len(all)
		for _, op := range all {
			s.note(op)
			s.client.sends(op)
			s.link.say(operation{Operation: op, frame: frame})
		}
		s.client.world.frames.taken(frame)
	}
}

// note records a sent message.
func (s *stream) note(op *schema.Operation) {
	c := s.client
	switch kind := op.GetKind().(type) {
	case *schema.Operation_Beat:
		s.sent[op.GetId()], kind.Beat.Ttl = c.world.now, int64(c.ttl)
	case *schema.Operation_Acquire:
		if r := s.find(op.GetId()); r.sentIn != s.session {
			r.again, r.sentIn = r.sentIn != nil, s.session
			c.world.judge.requested(requestKey{s.session.id, r.ID}, c, r.want)
		}
	case *schema.Operation_Release:
		if r := s.find(op.GetId()); r != nil {
			r.copies++
		}
	case *schema.Operation_Cancel:
		if s.find(op.GetId()) == nil {
			c.world.count.hits[deafRefused]++
		}
	}
}

// find returns a user's unsettled request, or nil.
func (s *stream) find(id uint64) *request {
	if r := s.machine.Request(id); r != nil {
		asked, _ := r.Caller.(*request)
		return asked
	}
	return nil
}

// acquire enters a request.
func (s *stream) acquire(want wantedLock, who asker) *request {
	r := &request{client: s.client, want: want, asker: who}
	r.Space, r.Want, r.Caller = holdfast.DefaultSpace, want.request(), r
	r.WaitEnd = clientsession.WaitEnd(s.client.now(), &r.Want)
	s.step(clientsession.Event{Kind: clientsession.Lock, Request: &r.Request})
	return r
}

// abandon is called when the user no longer wants the requested lock.
func (s *stream) abandon(r *request) {
	s.step(clientsession.Event{Kind: clientsession.GiveUp, Request: &r.Request})
}

// abandonOrUnlock gives up a request, or unlocks its lock.
func (s *stream) abandonOrUnlock(r *request) {
	if r.lock == nil {
		s.abandon(r)
		return
	}
	if r.believes(s.client.now()) {
		s.end(r, nil)
	}
	r.session.unlocks = r
	_ = r.lock.UnlockAsync() // its error is why the lock ended, which is known
}

// extendTo asks for another hold limit.
func (s *stream) extendTo(r *request, hold time.Duration) {
	if r.State() != clientsession.Held || s.machine.ExtendingMate(&r.Request) != nil || r.lock.Check() != nil {
		return
	}
	if hold > 0 {
		s.outlive(r)
	}
	s.step(clientsession.Event{Kind: clientsession.Extend, Request: &r.Request, Extension: &clientsession.Extension{}, Span: hold})
}

// amend sets another value of a lock.
func (s *stream) amend(r *request) {
	if r.State() != clientsession.Held || r.lock.Check() != nil {
		return
	}
	text, number := s.client.world.judge.values.next(grantOf(s.client, r))
	s.client.world.trace("%s gives %s the value %s", s.client, r.want.name, text)
	s.step(clientsession.Event{Kind: clientsession.Amend, Request: &r.Request, Amending: &clientsession.Amending{Caller: number}, Value: text})
}

// outlive marks requests that enter the grant of r and are being unlocked: the limit that is being requested may end
// the grant before their unlock arrives. Then the unlock is rightly refused.
func (s *stream) outlive(r *request) {
	for _, left := range s.requests() {
		if left.State() == clientsession.Releasing && left.want.name == r.want.name && left.Token() == r.Token() {
			left.outlived = true
		}
	}
}

// requests lists the users' unsettled requests, in the order of their ids.
func (s *stream) requests() (all []*request) {
	for _, r := range s.machine.Requests() {
		if asked, is := r.Caller.(*request); is {
			all = append(all, asked)
		}
	}
	return all
}

// answer performs an effect about a request.
func (s *stream) answer(r *request, e *clientsession.Effect) {
	w := s.client.world
	switch e.Kind {
	case clientsession.Hold:
		r.hold(s.session)
		if r.believes(s.client.now()) {
			w.judge.noteHolder(grantOf(s.client, r))
		}
		r.asker.granted(r)
	case clientsession.Fail:
		if r.sentIn != nil && holdfast.Why(e.Err) == "" && !errors.Is(e.Err, holdfast.ErrClosed) {
			w.judge.histories.refused(requestKey{r.sentIn.id, r.ID}, e.Err)
		}
		r.asker.failed(r, e.Err)
	case clientsession.TimeOut:
		err := errUnanswered
		if r.Waiting() {
			err = holdfast.ErrHeld
		}
		r.asker.failed(r, err)
	case clientsession.End:
		if s.end(r, e.Err); r.State() == clientsession.Ended {
			s.tellEnded(r)
		}
	case clientsession.Move:
		r.lock.SetHoldEnd(e.At)
		s.tellEnded(r)
	case clientsession.AnswerExtend:
		err := e.Err
		if err == nil {
			err = r.lock.Check() // its user may have seen its old limit end it
		}
		r.asker.extended(r, err)
	case clientsession.AnswerAmend:
		if e.Err == nil {
			w.judge.values.answered(e.Amending.Caller.(int))
			w.checkStored(r.want.name)
			w.readBack(s.client, r.want.name)
		}
	case clientsession.FailRelease:
		if holdfast.Why(e.Err) == "" && r.copies == 1 && r.HoldEnd() == holdfast.Forever && !r.outlived {
			w.judge.unlockRefused(grantOf(s.client, r), e.Err)
		}
	}
}

// end ends the lock of a request for the reason why; nil means by its user.
func (s *stream) end(r *request, why error) {
	if r.ended {
		return
	}
	if why != nil {
		r.lock.End(why)
	}
	r.ended = true
	s.client.world.judge.ended(grantOf(s.client, r), holdfast.Why(why))
}

// tellEnded tells the machine if the lock of a request has ended another way: its user has seen its deadline pass. The
// resulting effects are performed with the present ones.
func (s *stream) tellEnded(r *request) {
	if err := r.lock.Check(); err != nil {
		s.machine.Step(s.client.now(), &clientsession.Event{Kind: clientsession.Unheld, Request: &r.Request, Err: err}, &s.effects)
	}
}

// react performs an effect about links and the session.
func (s *stream) react(e *clientsession.Effect) {
	c := s.client
	switch e.Kind {
	case clientsession.Ask:
		s.ask(e.Contact)
	case clientsession.LetGo:
		s.letGo(linkOf(e.Contact), e.At)
	case clientsession.Refuse:
		s.refuse(linkOf(e.Contact), e)
	case clientsession.HangUp:
		s.link = nil
		linkOf(e.Contact).sever(clientEnd)
	case clientsession.Serve:
		s.serve(e)
	case clientsession.Renewed:
		c.world.judge.renews(s.session.id, c, s.renewed)
	case clientsession.Forget:
		s.forget(e)
	}
}

// serve makes the link of a contact the serving one.
func (s *stream) serve(e *clientsession.Effect) {
	l := linkOf(e.Contact)
	s.link, s.renewed = l, l.helloed
	s.client.servesAnother()
	s.leave(l)
	clear(s.sent)
	if s.session == nil || s.session.Session != e.Session {
		s.session = newPresence(s.client, e.Session)
		s.session.tenure = l.server.tenure
	}
	s.session.at = l.member
	s.squander()
}

// forget drops a session that has ended.
func (s *stream) forget(e *clientsession.Effect) {
	p := s.session
	s.session = nil
	switch {
	case e.Lost:
		s.client.world.trace("%s has lost session %v", s.client, p.id)
		if p.taken {
			s.client.endSoon() // the purpose of its start is over
		}
	case e.Err != nil:
		s.onTakenOver(p)
	}
}

// heard takes the events of a member from a link.
func (s *stream) heard(l *link, events []*schema.Event) {
	switch {
	case l == s.link:
		for _, event := range events {
			if s.link != l {
				return // an earlier event has ended the session
			}
			if event.GetBeat() != nil {
				s.renewed = s.sent[event.GetId()]
			}
			s.client.hears(event)
			s.said[0] = event
			s.step(clientsession.Event{Kind: clientsession.Heard, Contact: l.contact, Said: s.said[:]})
		}
	case s.asks(l) && !l.answered:
		l.answered, s.renewed = true, l.helloed
		s.step(clientsession.Event{Kind: clientsession.Answered, Contact: l.contact, Said: events, Phase: l.phase})
	}
}

// sessionID is the present session's id, zero while there is none.
func (s *stream) sessionID() lock.SessionID {
	if s.session == nil {
		return lock.SessionID{}
	}
	return s.session.id
}

// say sends a message that the machine does not: a user's mistake, or an attempt to take another's lock.
func (s *stream) say(op operation) {
	if s.link != nil {
		s.link.say(op)
	}
}

// errUnanswered is the error of a request that no member has answered in time.
var errUnanswered = fmt.Errorf("%w: no member has answered", holdfast.ErrUnavailable)

// after adds durations without overflow.
func after(now, d time.Duration) time.Duration {
	if d > protocol.Never-now {
		return protocol.Never
	}
	return now + d
}
