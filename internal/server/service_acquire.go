package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// grant is one granted name.
type grant struct {
	name     string
	decision lock.Decision
	holdEnd  protocol.Time // of its hold limit, on the holder's side; Never without one
	released bool          // its client has given it up; guarded by requests.mu
}

// taken is the state of an order during and after its grants.
type taken struct {
	session  credentials
	opened   bool   // by this order
	numbered uint64 // the id of its first request
	requests []lock.Request
	grants   []*grant         // in the order of sorted
	renewed  *session.Renewed // the session's promise when it was requested; nil after a wait
}

// Acquire takes one or several names, all or none. It waits as long as the request allows but no longer than the
// long-poll limit, after which the error is a waitingError; the end of ctx cancels the request. The grants come in the
// order of the names.
func (s *service) Acquire(ctx context.Context, r *schema.AcquireRequest) (answer *schema.AcquiredAll, err error) {
	in, err := s.acquireInput(ctx, r)
	if err != nil {
		return nil, failed("acquire", r.GetSpace(), "", err)
	}
	is := len(in.Names) > heavyOperations
	s.heavy.begin(is)
	o, err := s.order(in)
	s.heavy.end(is)
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
	ctx, end := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.life, func() { end(errClosing) })()
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

// fulfilled is the outcome of an order.
type fulfilled struct {
	taken  *taken
	answer *schema.AcquiredAll
	err    error
}

// fulfil carries out an order, and makes the answer. If that is an error, none of its names is held.
func (s *service) fulfil(ctx context.Context, o *order) (f fulfilled) {
	if f.taken, f.err = s.take(ctx, o); f.err != nil {
		f.err = s.refusal(o, f.err)
		return f
	}
	f.answer, f.err = s.present(o, f.taken, o.Arrived, f.taken.renewed)
	if cause := context.Cause(ctx); f.err == nil && cause != nil && cause != errLongPoll {
		f.err = s.refusal(o, cause)
	}
	if f.err != nil {
		s.undo(o, f.taken)
	}
	return f
}

// take makes an order's requests, in one step as far as they are answered at once. If a name is refused, the earlier
// grants are given back.
func (s *service) take(ctx context.Context, o *order) (*taken, error) {
	if err := s.overload(); err != nil {
		return nil, failed("acquire", o.space.Name, o.single(), err)
	}
	t := &taken{session: o.given}
	first := s.asking(protocol.Below, s.opening(o.Client, o.TTL, o.Caller))
	if o.Session != "" { // a session's request is a sign of its life
		first = s.asking(protocol.Below, o.given.renewal(o.TTL, o.Arrived))
	}
	client := s.clients.find(o.Caller, s.now())
	first.Turn = s.turnOf(client, len(o.sorted))
	var refused error
	waited, err := s.driver.Converse(first, func(answer *protocol.Reply) (next *run.Question) {
		if refused = s.takes(o, t, answer); refused == nil {
			next, refused = s.next(ctx, o, t)
		}
		return next
	})
	if errors.Is(err, run.ErrClosed) {
		err = errClosing
	}
	if isOverQuota(refused) {
		client.turn.Lock()
		pay(time.Duration(len(o.sorted))*refusedRequest, ctx.Done())
		client.turn.Unlock()
	}
	if err = cmp.Or(refused, err); err != nil {
		name := o.single()
		if t.numbered != 0 {
			name = o.sorted[len(t.grants)]
		}
		s.undo(o, t)
		return nil, failed("acquire", o.space.Name, name, err)
	}
	if waited {
		t.renewed = nil
	}
	return t, nil
}

// takes handles an answer to an order: its session, or its renewal, the ids of its requests, or the outcome of one. The
// error is the reason for a refusal.
func (s *service) takes(o *order, t *taken, answer *protocol.Reply) error {
	switch result := answer.Result.(type) {
	case *session.Opened:
		if result.Err == nil {
			t.session, t.opened = credentials{result.ID, result.Secret, o.Caller.identity(), s.owner(o.Caller)}, true
			t.renewed = &session.Renewed{TTL: result.TTL, Cut: result.Cut}
		}
		return result.Err
	case *session.Renewed:
		t.renewed = result
		return s.heed(o.given, result)
	case *session.Numbered:
		if t.numbered = result.First; t.numbered == 0 {
			return edge.ErrSession(t.session.id)
		}
		return nil
	}
	d, n := answer.Decision, len(t.grants)
	switch d.Kind {
	case lock.Granted:
		g := &grant{name: o.sorted[n], decision: d, holdEnd: protocol.Never}
		if d.Hold > 0 {
			g.holdEnd = lock.After(o.Arrived, d.Hold)
		}
		t.grants = append(t.grants, g)
		return nil
	case lock.Lost, lock.Refused, lock.Released:
		t.requests = t.requests[:n] // it is already gone
	}
	switch {
	case d.Loss != "":
		return d.Loss
	case errors.Is(d.Err, session.ErrUnknown):
		return edge.ErrSession(t.session.id)
	}
	return cmp.Or(d.Err, holdfast.ErrNotHeld) // the latter if another request has ended the session, or this wait
}

// next returns an order's next question: the ids of its requests, then one name after the other, in sorted order, so
// that two orders cannot deadlock; nil when all were granted. The end of the long poll ends a wait but not the
// requests: a free name is still granted. If ctx ends first, undo cancels the rest.
func (s *service) next(ctx context.Context, o *order, t *taken) (*run.Question, error) {
	n := len(t.grants)
	switch {
	case t.numbered == 0:
		return s.asking(protocol.Below, &session.Number{ID: t.session.id, Count: len(o.sorted)}), nil
	case n == len(o.sorted):
		return nil, nil
	}
	if err := context.Cause(ctx); err != nil && err != errLongPoll {
		return nil, err
	}
	once, content := o.once()
	t.requests = append(t.requests, lock.Request{
		Session: t.session.id, ID: t.numbered + uint64(n), Name: o.sorted[n], Attributes: o.Attributes,
		Try: o.waitEnd == 0, Arrived: o.Arrived, WaitEnd: o.waitEnd, Once: once, Content: content,
	})
	asked := t.requests[n]
	return &run.Question{Port: o.space.Port, Fact: &asked, Within: ctx}, nil
}

// undo gives back an order's grants and withdraws its pending requests. Each request is cancelled by its id, so no
// other order is affected.
func (s *service) undo(o *order, t *taken) {
	var all []protocol.Event
	for i := range t.requests {
		r := &t.requests[i]
		all = append(all, protocol.Event{Kind: protocol.Call, Port: o.space.Port, Call: s.driver.Unheard(),
			Fact: &protocol.Cancel{Session: r.Session, Name: r.Name, Request: r.ID}})
	}
	if t.opened {
		all = append(all, protocol.Event{Kind: protocol.Call, Call: s.driver.Unheard(), Fact: &session.End{ID: t.session.id, Proven: true}})
	}
	turn := s.turnOf(s.clients.find(o.Caller, s.now()), len(all))
	for part := range slices.Chunk(all, heavyOperations) {
		turn.Lock()
		s.driver.Step(part...)
		turn.Unlock()
	}
}

// present returns the grants for a request that arrived at arrived: the ttl counts from then. If one was lost
// meanwhile, the loss is the answer. Renewed is the session's current promise; if nil, the session is renewed first.
func (s *service) present(o *order, t *taken, arrived protocol.Time, renewed *session.Renewed) (answer *schema.AcquiredAll, err error) {
	if renewed == nil {
		renewed, err = s.touch(t.session, o.TTL, arrived)
	}
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
	answer = &schema.AcquiredAll{Session: t.session.String()}
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
