package client

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// onFrame takes all that the server said on the stream. The calls that this ends return
// when all of it was taken, and not before the mutex is free: they all want it next.
func (c *Client) onFrame(on *stream, events []*schema.Event) {
	decided := c.take(on, events)
	for i, r := range decided {
		decided[i] = nil
		r.outcome <- r.result
	}
}

// take takes events, and returns the requests whose calls are to return, in memory of the
// stream, which one goroutine reads.
func (c *Client) take(on *stream, events []*schema.Event) (decided []*request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading, c.decided = true, on.decided[:0]
	defer func() { c.reading, c.decided = false, nil }()
	now := c.clock.Now()
	for _, event := range events {
		if c.stream != on {
			break // the session has ended by an event before
		}
		if moved := event.GetMoved(); moved != nil {
			c.learn(moved.GetAuthority(), moved.GetMembers())
		} else if ev := (session.Event{}); toEvent(event, &ev) {
			c.stepAt(now, &ev)
		}
	}
	on.decided = c.decided
	return c.decided
}

// toEvent makes an event of what a member says of an operation. It reports false where that is not known.
func toEvent(event *schema.Event, ev *session.Event) bool {
	ev.ID = event.GetId()
	switch kind := event.GetKind().(type) {
	case *schema.Event_Beat:
		ev.Kind, ev.Span, ev.Cut = session.Beaten, time.Duration(kind.Beat.GetTtl()), kind.Beat.GetTtlCut()
	case *schema.Event_Refused:
		problem := kind.Refused.GetProblem()
		if problem == nil {
			problem = &schema.Problem{Code: api.CodeInternal, Detail: "refused without a reason"}
		}
		ev.Kind, ev.Verdict, ev.Err = session.Refused, verdict(problem), api.FromProblem("", problem)
	case *schema.Event_Released:
		problem := kind.Released.GetProblem()
		ev.Kind, ev.Verdict, ev.Err = session.Released, verdict(problem), api.FromProblem("", problem)
	case *schema.Event_Granted:
		ev.Kind, ev.Token, ev.Span, ev.Grace = session.Granted, holdfast.Token(kind.Granted.GetToken()), time.Duration(kind.Granted.GetHold()), kind.Granted.GetGrace()
	case *schema.Event_Queued:
		ev.Kind, ev.Position = session.Queued, int(kind.Queued.GetPosition())
	case *schema.Event_Lost:
		ev.Kind, ev.Why, ev.MustRelease = session.Lost, holdfast.Loss(kind.Lost.GetWhy()), kind.Lost.GetMustRelease()
	case *schema.Event_Extended:
		ev.Kind, ev.Span = session.Extended, time.Duration(kind.Extended.GetHold())
	default:
		return false
	}
	return true
}

// verdict classifies a problem for the session's machine.
func verdict(problem *schema.Problem) session.Verdict {
	switch code := problem.GetCode(); {
	case code == api.CodeUnknownSession, code == api.CodeLost && problem.GetWhy() == string(holdfast.SessionExpired):
		return session.Gone
	case code == api.CodeLimit:
		return session.TooMuch
	case code == api.CodeNotHeld:
		return session.NotHeld
	}
	return session.Other
}

// failRelease tells why a release was not taken: the call of Unlock that waits for it, or
// else Settle, which tells the first one.
func (c *Client) failRelease(r *request, err error) {
	switch {
	case r.Awaited():
		r.refusal = err
	case c.refused == nil:
		c.refused = err
	}
}
