package server

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// greet takes the first frame that says anything, which must begin with a hello,
// and opens or resumes the session. It returns the rest of that frame, or false
// when the stream is over; why was told, or is what it ends with.
//
// The welcome is the first event, even if the session was told other things
// meanwhile, and travels in one frame with all of that: a client that knows that
// its session goes on knows as well which of its grants do not.
func (s *stream) greet(frame *frames.Operations) (rest []*schema.Operation, arrived protocol.Time, ok bool) {
	for len(frame.List()) == 0 {
		if !s.receive(frame) {
			return nil, 0, false
		}
		arrived = s.server.service.now()
	}
	first := frame.List()[0]
	welcome, err := s.open(first, arrived)
	if err != nil {
		s.refuseStream(err)
		return nil, 0, false
	}
	wasGreeted(s.rpc.Context())
	s.box.first(welcome)
	s.box.signal()
	close(s.opened)
	return frame.List()[1:], arrived, true
}

// refuseStream refuses the hello and ends the stream.
func (s *stream) refuseStream(err error) {
	s.countRefusal(err)
	s.say(outgoing{saying: sayRefused, call: callHello, err: err})
	s.finish(nil)
}

// open does what the hello asks for and returns the welcome.
func (s *stream) open(first *schema.Operation, arrived protocol.Time) (outgoing, error) {
	hello, is := first.GetKind().(*schema.Operation_Hello)
	if !is {
		return outgoing{}, api.Fail(api.CodeBadRequest, "the first operation of a stream must be hello")
	}
	h := hello.Hello
	if first.GetId() > maxID {
		return outgoing{}, badID(first.GetId())
	}
	if err := s.server.service.checkTTL(time.Duration(h.GetTtl())); err != nil {
		return outgoing{}, err
	}
	if err := holdfast.CheckText("client", h.GetClient()); err != nil {
		return outgoing{}, badRequest(err)
	}
	s.wanted.Store(h.GetTtl())
	resumes := h.GetSession() != "" || h.GetSecret() != ""
	if err := s.admitHello(resumes, arrived); err != nil {
		return outgoing{}, err
	}
	s.caller = callerOf(s.rpc.Context())
	s.client = s.caller.called(h.GetClient())
	welcome := outgoing{saying: sayWelcome, call: callHello, id: first.GetId(), roster: s.server.service.roster()}
	s.sink = s.server.service.driver.Attach(s)
	var err error
	if resumes {
		err = s.resumeSession(h, arrived, &welcome)
	} else {
		err = s.openSession(h, &welcome)
	}
	return welcome, err
}

// openSession opens a new session.
func (s *stream) openSession(h *schema.Hello, welcome *outgoing) error {
	if err := s.server.service.overload(); err != nil {
		return err
	}
	answer, err := s.query(&session.Open{
		Kind: session.Stream, TTL: time.Duration(h.GetTtl()), Client: s.client, Identity: s.caller.identity, Number: h.GetNumber(),
	})
	if err != nil {
		return err
	}
	opened := answer.(*session.Opened)
	if opened.Err != nil {
		return s.server.service.whyUnavailable(opened.Err)
	}
	s.server.occupants.occupy(s.rpc.Context(), opened.ID, s, errSuperseded())
	welcome.opened, welcome.fresh = &credentials{id: opened.ID, secret: opened.Secret}, true
	welcome.span, welcome.generation = opened.TTL, opened.Generation
	welcome.cut = s.server.service.whyCut(opened.Cut, time.Duration(h.GetTtl()), opened.TTL)
	return nil
}

// resumeSession goes on with a session whose stream broke, or ends its earlier
// stream, which may be that of the client that it is taken over from. Only who proves that the session
// is its own can end a stream of it, and no client that it was taken over from.
func (s *stream) resumeSession(h *schema.Hello, arrived protocol.Time, welcome *outgoing) error {
	id, known := lock.ParseSessionID(h.GetSession())
	secret, proven := parseSecret(h.GetSecret())
	if !known || !proven {
		return api.Fail(api.CodeBadRequest, "session and secret: want both, as the welcome that opened it told them")
	}
	if h.GetGeneration() > maxID {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("generation %d: want 0 to %d", h.GetGeneration(), uint64(maxID)))
	}
	takes, err := s.server.service.mayResume(&session.Check{
		ID: id, Secret: secret, Identity: s.caller.identity, Number: h.GetNumber(), Generation: h.GetGeneration(),
	})
	if err != nil {
		return err
	}
	why := errSuperseded()
	if takes {
		why = api.ToStatus(errTakenOver(id))
	}
	if !s.server.occupants.occupy(s.rpc.Context(), id, s, why) {
		return errGone
	}
	answer, err := s.query(&session.Resume{
		ID: id, Secret: secret, Identity: s.caller.identity, TTL: time.Duration(h.GetTtl()), Requests: h.GetRequests(), Last: min(h.GetLast(), maxID),
		Number: h.GetNumber(), Generation: h.GetGeneration(),
	})
	if err != nil {
		return err
	}
	renewed := answer.(*session.Renewed)
	if renewed.Err != nil {
		return s.server.service.whyUnavailable(notYours(id, renewed.Err))
	}
	for _, lost := range renewed.Lost {
		s.say(lostGrant(lost.Port, &lost.Decision))
	}
	s.before = h.GetLast()
	for _, id := range h.GetRequests() {
		s.before = max(s.before, id)
	}
	welcome.opened, welcome.span = &credentials{id: id}, renewed.TTL
	welcome.generation = renewed.Generation
	welcome.cut = s.server.service.whyCut(renewed.Cut, time.Duration(h.GetTtl()), renewed.TTL)
	return nil
}

// errGone says that the client has left before it was answered.
var errGone = errors.New("the client has gone")

// query puts one question about the session and waits for its answer, which comes
// with the stream's other replies so that their order is kept.
func (s *stream) query(fact any) (any, error) {
	s.server.service.driver.Step(protocol.Event{
		Kind: protocol.Call, Port: protocol.Below, Fact: fact,
		Call: protocol.CallID{Sink: s.sink, Op: helloOp},
	})
	select {
	case answer := <-s.opening:
		return answer, nil
	case <-s.ended:
		return nil, fmt.Errorf("%w: %s", errGone, status.Convert(s.result).Message())
	}
}
