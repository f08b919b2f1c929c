package server

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/protocol"
)

// greet takes the first non-empty frame, and performs the effects of its greeting. It returns the rest of that frame,
// or false when the stream is over, after its reason was sent or as its end.
func (s *stream) greet(frame *frames.Operations) (rest []*schema.Operation, arrived protocol.Time, ok bool) {
	for len(frame.List()) == 0 {
		if !s.receive(frame) {
			return nil, 0, false
		}
		arrived = s.server.service.now()
	}
	by := callerOf(s.rpc.Context())
	permit := &streamPermit{service: s.server.service, caller: by}
	s.change(func(o *edge.Outbox) { o.For(permit) })
	event, out := edge.Event{Operations: frame.List(), Caller: edge.Caller{Name: by.name, Identity: by.identity(), Owner: s.server.service.owner(by), Permit: permit}}, edge.Effects{}
	for {
		out.Reset()
		event.Overload = s.server.service.overload()
		s.machine.Step(arrived, &event, &out)
		switch out.Do.Kind {
		case edge.Welcome:
			wasGreeted(s.rpc.Context())
			s.say(&out)
			s.signal()
			close(s.opened)
			return frame.List()[1:], arrived, true
		case edge.Refuse:
			err := s.server.service.whyUnavailable(out.Do.Err)
			s.countRefusal(err)
			if isOverQuota(err) {
				s.owner.turn.Lock()
				pay(refusedSession, s.ended)
				s.owner.turn.Unlock()
			}
			s.change(func(o *edge.Outbox) { o.Refuse(err) })
			return nil, 0, false
		}
		event = edge.Event{}
		event.Answer, event.Err = s.provide(&out.Do, arrived)
	}
}

// provide performs the greeting's next effect.
func (s *stream) provide(do *edge.Effect, arrived protocol.Time) (answer any, err error) {
	switch do.Kind {
	case edge.Admit:
		if err := s.owner.admitAll(arrived, do.Requests, do.Returns); err != nil {
			return nil, err
		}
		roster := s.server.service.roster()
		s.sink = s.server.service.driver.Attach(s)
		return &edge.Admission{Sink: s.sink, Roster: roster}, nil
	case edge.Check:
		return query[*session.Renewed](s.server.service, protocol.Below, do.Fact)
	case edge.Occupy:
		if !s.server.occupants.occupy(s.rpc.Context(), do.Session, s, do.Err) {
			return nil, errGone
		}
		return nil, nil
	}
	return s.query(do.Fact)
}

// errGone reports that the client has left before it was answered.
var errGone = errors.New("the client has gone")

// query asks one question about the session and waits for its answer, which comes with the stream's other replies so
// that their order is kept.
func (s *stream) query(fact any) (any, error) {
	s.server.service.driver.Step(protocol.Event{
		Kind: protocol.Call, Port: protocol.Below, Fact: fact,
		Call: protocol.CallID{Sink: s.sink, Op: edge.HelloCall},
	})
	select {
	case answer := <-s.opening:
		return answer, nil
	case <-s.ended:
		return nil, fmt.Errorf("%w: %s", errGone, status.Convert(s.result()).Message())
	}
}
