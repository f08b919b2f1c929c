package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// grant is one name that was granted.
type grant struct {
	name     string
	decision lock.Decision
	holdEnd  protocol.Time // of its hold limit, on the holder's side; Never without
	released bool          // its client has given it up; guarded by requests.mu
}

// taken is what became of an order that was granted.
type taken struct {
	session  credentials
	opened   bool // by this order
	requests []lock.Request
	grants   []*grant // in the order of sorted
}

// Acquire takes one name or several, all or none. It waits as long as the request says but
// no longer than the long-poll limit, after which the error is a waitingError; the
// end of ctx cancels the request. The grants come in the order of the names.
func (s *service) Acquire(ctx context.Context, r *schema.AcquireRequest) (answer *schema.AcquiredAll, err error) {
	in, err := s.acquireInput(ctx, r)
	if err != nil {
		return nil, failed("acquire", r.GetSpace(), "", err)
	}
	o, err := s.order(in)
	if o.space != nil {
		defer func() { s.observer.operation(o.space.Name, "acquire", err) }()
	}
	if err != nil {
		return answer, err
	}
	if out := s.forwarderAt(o.space); out != nil {
		return out.acquire(ctx, in)
	}
	if in.Request != "" {
		return s.acquireOnce(ctx, o)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.LongPoll, errLongPoll)
	defer cancel()
	ctx, expire := s.bounded(ctx, o)
	defer expire()
	got, ok := promptly(ctx, s, func() fulfilled { return s.fulfil(ctx, o) }, func(late fulfilled) {
		if late.err == nil {
			s.undo(o, late.taken)
		}
	})
	if !ok {
		return answer, s.refusal(o, context.Cause(ctx))
	}
	return got.answer, got.err
}

// fulfilled is what became of an order.
type fulfilled struct {
	taken  *taken
	answer *schema.AcquiredAll
	err    error
}

// fulfil takes what an order asks for, and makes the answer. Where that is an error nothing
// of it is held.
func (s *service) fulfil(ctx context.Context, o *order) (f fulfilled) {
	if f.taken, f.err = s.take(ctx, o); f.err != nil {
		f.err = s.refusal(o, f.err)
		return f
	}
	f.answer, f.err = s.present(o, f.taken, o.Arrived)
	if cause := context.Cause(ctx); f.err == nil && cause != nil && cause != errLongPoll {
		f.err = s.refusal(o, cause)
	}
	if f.err != nil {
		s.undo(o, f.taken)
	}
	return f
}

// take asks for one name after the other, in sorted order, so that two orders
// cannot wait for each other. If one is refused, what was granted is given back.
func (s *service) take(ctx context.Context, o *order) (*taken, error) {
	if err := s.overload(); err != nil {
		return nil, failed("acquire", o.space.Name, o.single(), err)
	}
	t := &taken{session: o.given}
	if err := s.enter(o, t); err != nil {
		return nil, err
	}
	numbered, err := query[*session.Numbered](s, protocol.Below, &session.Number{ID: t.session.id, Count: len(o.sorted)})
	if err == nil && numbered.First == 0 {
		err = edge.ErrSession(t.session.id)
	}
	if err != nil {
		s.undo(o, t)
		return nil, failed("acquire", o.space.Name, o.single(), err)
	}
	once, content := o.once()
	for i, name := range o.sorted {
		t.requests = append(t.requests, lock.Request{
			Session: t.session.id, ID: numbered.First + uint64(i), Name: name, Attributes: o.Attributes,
			Try: o.waitEnd == 0, Arrived: o.Arrived, WaitEnd: o.waitEnd, Once: once, Content: content,
		})
		decision, err := s.takeOne(ctx, o.space.Port, t.requests[len(t.requests)-1])
		if err != nil {
			if decision.Kind != 0 && decision.Kind != lock.Revoked {
				t.requests = t.requests[:len(t.requests)-1] // it is gone already
			}
			s.undo(o, t)
			return nil, failed("acquire", o.space.Name, name, err)
		}
		g := &grant{name: name, decision: decision, holdEnd: protocol.Never}
		if decision.Hold > 0 {
			g.holdEnd = lock.After(o.Arrived, decision.Hold)
		}
		t.grants = append(t.grants, g)
	}
	return t, nil
}

// enter opens a session, or renews the one that was given: a request of a session
// is a sign of its life.
func (s *service) enter(o *order, t *taken) error {
	if o.Session != "" {
		_, err := s.touch(o.given, o.TTL, o.Arrived)
		return failed("acquire", o.space.Name, o.single(), err)
	}
	opened, err := s.open(o.Client, o.TTL, o.Caller)
	if err != nil {
		return failed("acquire", o.space.Name, o.single(), err)
	}
	t.session, t.opened = credentials{opened.ID, opened.Secret, o.Caller.identity}, true
	return nil
}

// takeOne asks for one name and waits for what becomes of it. When the wait is cut
// short, undo cancels the request. The end of the long poll ends a wait and not the
// asking: no client is told to wait on for a name that is free.
func (s *service) takeOne(ctx context.Context, port protocol.Port, r lock.Request) (lock.Decision, error) {
	if err := context.Cause(ctx); err != nil && err != errLongPoll {
		return lock.Decision{}, err
	}
	call, line := s.switchboard.open()
	defer s.switchboard.hangUp(call)
	reply, answered, err := s.driver.Call(protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: &r})
	if err != nil {
		return lock.Decision{}, holdfast.ErrUnavailable
	}
	decision := reply.Decision
	if !answered || decision.Kind == lock.Queued {
		select {
		case decision = <-line:
		case <-ctx.Done():
			return lock.Decision{}, context.Cause(ctx)
		case <-s.life.Done():
			return lock.Decision{}, fmt.Errorf("%w: the server is shutting down", holdfast.ErrUnavailable)
		}
	}
	switch decision.Kind {
	case lock.Granted:
		return decision, nil
	case lock.Lost, lock.Revoked:
		return decision, decision.Loss
	case lock.Refused:
		if errors.Is(decision.Err, session.ErrUnknown) {
			return decision, edge.ErrSession(r.Session)
		}
		return decision, decision.Err
	default:
		return decision, holdfast.ErrNotHeld // another request has ended the session, or this wait
	}
}

// undo gives back what an order was granted and takes back what it still asks for.
// Each request is cancelled by its id, so nothing of another order is touched.
func (s *service) undo(o *order, t *taken) {
	for i := range t.requests {
		r := &t.requests[i]
		call, _ := s.switchboard.open()
		s.driver.Step(protocol.Event{Kind: protocol.Call, Port: o.space.Port, Call: call,
			Fact: &protocol.Cancel{Session: r.Session, Name: r.Name, Request: r.ID}})
		s.switchboard.hangUp(call)
	}
	if !t.opened {
		return
	}
	call, _ := s.switchboard.open()
	s.driver.Step(protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.End{ID: t.session.id, Proven: true}})
	s.switchboard.hangUp(call)
}

// present tells what was granted to a request that arrived at arrived: the ttl
// counts from then. If something of it was lost meanwhile, that is the answer.
func (s *service) present(o *order, t *taken, arrived protocol.Time) (*schema.AcquiredAll, error) {
	renewed, err := s.touch(t.session, o.TTL, arrived)
	for _, g := range t.grants {
		if why := s.losses.why(t.session, o.space.Port, g.name, g.decision.Token); why != "" {
			return nil, failed("acquire", o.space.Name, g.name, why)
		}
	}
	if err != nil {
		if api.Code(err) == api.CodeUnknownSession {
			err = holdfast.SessionExpired
		}
		return nil, failed("acquire", o.space.Name, o.single(), err)
	}
	answer := &schema.AcquiredAll{Session: t.session.String()}
	cut := s.whyCut(renewed.Cut, o.TTL, renewed.TTL)
	for _, name := range o.Names {
		at, _ := slices.BinarySearch(o.sorted, name)
		g := t.grants[at]
		end := min(lock.After(arrived, renewed.TTL), g.holdEnd)
		ttl := roundedTTL(end - arrived)
		answer.Locks = append(answer.Locks, &schema.Acquired{
			Space: o.space.Name, Name: name, Mode: api.ToMode(g.decision.Mode), Units: int32(g.decision.Units), Owner: g.decision.Owner,
			Token: uint64(g.decision.Token), Since: s.wall(g.decision.Since), Until: s.wall(end),
			Ttl: api.Span(ttl), ExpiresIn: s.expiresIn(ttl, arrived), TtlCut: cut, Session: answer.Session, Class: api.ToClass(o.space.Class),
		})
	}
	return answer, nil
}
