package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// credentials authenticate a session's client.
type credentials struct {
	id       lock.SessionID
	secret   session.Secret
	identity string        // of the caller, as established by the port; "" if unknown
	owner    session.Owner // that is charged the session if it comes from another member
}

// String returns id.secret, which only the client may see.
func (c credentials) String() string { return c.id.String() + "." + edge.FormatSecret(c.secret) }

// parseCredentials parses id.secret. The error does not repeat the text, which may be a
// secret.
func parseCredentials(text string) (c credentials, err error) {
	public, private, _ := strings.Cut(text, ".")
	id, known := lock.ParseSessionID(public)
	secret, proven := edge.ParseSecret(private)
	if !known || !proven {
		return c, api.Fail(api.CodeBadRequest, "session: want ID.SECRET, as in the answer that opened it")
	}
	return credentials{id: id, secret: secret}, nil
}

// credentials parses id.secret from a caller.
func (s *service) credentials(text string, v caller) (credentials, error) {
	c, err := parseCredentials(text)
	c.identity, c.owner = v.identity(), s.owner(v)
	return c, err
}

// renewal returns the call that renews a session for a request at arrived.
func (c credentials) renewal(ttl time.Duration, arrived protocol.Time) *session.Renew {
	return &session.Renew{ID: c.id, Secret: c.secret, Identity: c.identity, TTL: ttl, Arrived: arrived, Owner: c.owner}
}

// heed records the losses in the answer to a renewal, for later questions of the client. The error is unknown_session,
// the Loss with which the session has ended, or unavailable if nothing more can be promised now: then the session keeps
// its deadline.
func (s *service) heed(c credentials, renewed *session.Renewed) error {
	s.losses.add(c, renewed.Lost)
	if err := renewed.Err; err == nil || holdfast.Why(err) != "" && err != session.ErrUnknown ||
		errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, session.ErrForeign) {
		return err
	}
	return edge.ErrSession(c.id)
}

// touch renews a session, and heeds the answer.
func (s *service) touch(c credentials, ttl time.Duration, arrived protocol.Time) (*session.Renewed, error) {
	renewed, err := query[*session.Renewed](s, protocol.Below, c.renewal(ttl, arrived))
	if err == nil {
		err = s.whyUnavailable(s.heed(c, renewed))
	}
	return renewed, err
}

// OpenSession opens a session without locks. A member that forwards requests of durable spaces forwards this, too: such
// a session is known there.
func (s *service) OpenSession(ctx context.Context, r *schema.OpenSessionRequest) (answer *schema.OpenedSession, err error) {
	defer func() { s.observer.operation("", "open", err) }()
	by := callerOf(ctx)
	client, arrived := by.called(r.GetClient()), s.arrived(ctx)
	wanted, err := atLeast("ttl", r.GetTtl(), time.Millisecond)
	if err = cmp.Or(err, api.BadRequest(holdfast.CheckText("client", client)), s.overload()); err != nil {
		return nil, failed("open", "", "", err)
	}
	if len(s.durable) > 0 && s.forwarder.passesOn() {
		answer, err = passOnBriefly(ctx, s.forwarder, about{}, "open", schema.Locks_OpenSession_FullMethodName, r, &schema.OpenedSession{})
		if err == nil {
			answer.ExpiresIn = s.expiresIn(answer.GetTtl().AsDuration(), arrived)
		}
		return answer, err
	}
	open := s.opening(client, wanted, by)
	open.Number = rand.Uint64() | 1 // it outlasts the locks taken in it
	opened, err := query[*session.Opened](s, protocol.Below, open)
	if err == nil {
		err = s.whyUnavailable(opened.Err)
	}
	if err != nil {
		return nil, failed("open", "", "", err)
	}
	ttl := roundedTTL(opened.TTL)
	return &schema.OpenedSession{
		Session: credentials{id: opened.ID, secret: opened.Secret}.String(), Ttl: api.Span(ttl), ExpiresIn: s.expiresIn(ttl, arrived),
		TtlCut: s.whyCut(opened.Cut, wanted, opened.TTL), Until: s.wall(arrived + opened.TTL),
	}, nil
}

// opening returns the call that opens a session kept alive by its requests, which ends with its last lock.
func (s *service) opening(client string, ttl time.Duration, by caller) *session.Open {
	return &session.Open{Kind: session.OneShot, TTL: ttl, Client: client, Identity: by.identity(), Owner: s.owner(by)}
}

// Renew renews a session. If it has lost a lock since the last report, the answer is that loss, once, though the
// session may live on with its others.
func (s *service) Renew(ctx context.Context, r *schema.RenewRequest) (answer *schema.Renewed, err error) {
	defer func() { s.observer.operation("", "renew", err) }()
	wanted, err := atLeast("ttl", r.GetTtl(), time.Millisecond)
	if err != nil {
		return nil, failed("renew", "", "", err)
	}
	c, err := s.credentials(r.GetSession(), callerOf(ctx))
	if err != nil {
		return nil, failed("renew", "", "", err)
	}
	arrived := s.arrived(ctx)
	if out := s.forwarderOf(c); out != nil {
		return out.renew(ctx, r, arrived)
	}
	renewed, err := s.touch(c, wanted, arrived)
	if lost, found := s.losses.unreported(c); found {
		return nil, failed("renew", s.spaceName(lost.port), lost.name, lost.why)
	}
	if err != nil {
		return nil, failed("renew", "", "", err)
	}
	ttl := roundedTTL(renewed.TTL)
	return &schema.Renewed{
		Session: c.id.String(), Ttl: api.Span(ttl), ExpiresIn: s.expiresIn(ttl, arrived),
		TtlCut: s.whyCut(renewed.Cut, wanted, renewed.TTL), Until: s.wall(arrived + renewed.TTL),
	}, nil
}

// roundedTTL truncates a ttl to whole milliseconds: the answer never exceeds the actual promise.
func roundedTTL(ttl time.Duration) time.Duration {
	return max(0, ttl).Truncate(time.Millisecond)
}

// expiresIn returns the rest of a ttl that counts from a request's arrival.
func (s *service) expiresIn(ttl time.Duration, arrived protocol.Time) *durationpb.Duration {
	return api.Span(roundedTTL(ttl - (s.now() - arrived)))
}

// EndSession ends a session and returns its former holds, in all spaces.
func (s *service) EndSession(ctx context.Context, r *schema.EndSessionRequest) (answer *schema.SessionReleased, err error) {
	defer func() { s.observer.operation("", "end", err) }()
	c, err := s.credentials(r.GetSession(), callerOf(ctx))
	if err != nil {
		return nil, failed("end", "", "", err)
	}
	if out := s.forwarderOf(c); out != nil {
		return passOnBriefly(ctx, out, about{session: r.GetSession()}, "end", schema.Locks_EndSession_FullMethodName, r, &schema.SessionReleased{})
	}
	ended, err := query[*session.Ended](s, protocol.Below, &session.End{ID: c.id, Secret: c.secret, Identity: c.identity})
	if err != nil {
		return nil, failed("end", "", "", err)
	}
	switch {
	case errors.Is(ended.Err, session.ErrForeign), errors.Is(ended.Err, holdfast.ErrUnavailable):
		return nil, failed("end", "", "", s.whyUnavailable(ended.Err))
	case ended.Err != nil:
		return nil, failed("end", "", "", edge.ErrSession(c.id))
	}
	s.requests.released(c.id, 0)
	answer = &schema.SessionReleased{}
	for _, was := range ended.Released {
		answer.Released = append(answer.Released, released(s.spaceName(was.Port), was.Decision.Name, was.Decision.Token))
	}
	return answer, nil
}

func released(space, name string, token holdfast.Token) *schema.ReleasedLock {
	return &schema.ReleasedLock{Space: space, Name: name, Token: uint64(token), Released: true}
}

// Release releases a grant, and answers when the authority has confirmed it. For a grant that was lost before, the
// answer is that loss.
func (s *service) Release(ctx context.Context, r *schema.ReleaseRequest) (answer *schema.ReleasedLock, err error) {
	h, err := s.hold(ctx, "release", r)
	if err != nil {
		return nil, err
	}
	defer func() { s.observer.operation(h.space.Name, h.metric(), err) }()
	if out := s.forwarderAt(h.space); out != nil {
		return passOnBriefly(ctx, out, about{session: r.GetSession()}, h.op, schema.Locks_Release_FullMethodName, r, &schema.ReleasedLock{})
	}
	d, err := s.change(h, func(last *lock.Decision) any {
		if last != nil {
			return nil
		}
		return &protocol.Release{Session: h.by.id, Name: h.name, Token: h.token, Awaited: true}
	})
	if err != nil {
		return nil, err
	}
	s.requests.released(h.by.id, d.Request)
	return released(h.space.Name, h.name, h.token), nil
}

// mostAmends is how often SetValue asks: each time another call has been faster.
const mostAmends = 64

// SetValue replaces the value of a grant, and answers when the authority has it. It does not know how many values the
// session has set, so it asks with the next revision until one is new.
func (s *service) SetValue(ctx context.Context, r *schema.SetValueRequest) (answer *schema.ValueSet, err error) {
	h, err := s.hold(ctx, "set value", r)
	if err != nil {
		return nil, err
	}
	defer func() { s.observer.operation(h.space.Name, h.metric(), err) }()
	if err := cmp.Or(holdfast.CheckValue(r.GetValue()), s.checkValue(r.GetValue())); err != nil {
		return nil, failed(h.op, h.space.Name, h.name, err)
	}
	if out := s.forwarderAt(h.space); out != nil {
		return passOnBriefly(ctx, out, about{session: r.GetSession()}, h.op, schema.Locks_SetValue_FullMethodName, r, &schema.ValueSet{})
	}
	asked := 0
	d, err := s.change(h, func(last *lock.Decision) any {
		amendment := lock.Amendment{Revision: 1, Value: r.GetValue()}
		switch {
		case last == nil:
		case last.Kind != lock.Amended, last.Since != 0, asked == mostAmends:
			return nil
		default:
			amendment.Revision = last.Revision + 1
		}
		asked++
		return &protocol.Amend{Session: h.by.id, Name: h.name, Token: h.token, Amendment: amendment}
	})
	if err == nil && d.Since == 0 {
		err = failed(h.op, h.space.Name, h.name, fmt.Errorf("%w: other calls keep setting the value", holdfast.ErrConflict))
	}
	if err != nil {
		return nil, err
	}
	return &schema.ValueSet{Space: h.space.Name, Name: h.name, Token: uint64(h.token), Value: d.Value, Revision: d.Revision}, nil
}

// heldLock is a lock that a call is about, which a session holds.
type heldLock struct {
	op    string
	space *Space
	name  string
	token holdfast.Token
	by    credentials
}

// metric returns the name of the operation in metrics.
func (h *heldLock) metric() string { return strings.ReplaceAll(h.op, " ", "_") }

// hold checks a call about a held lock. The error is complete.
func (s *service) hold(ctx context.Context, op string, r interface {
	GetSpace() string
	GetName() string
	GetToken() uint64
	GetSession() string
}) (h heldLock, err error) {
	space, err := s.space(r.GetSpace())
	if err != nil {
		return h, failed(op, "", "", err)
	}
	h = heldLock{op: op, space: space, name: r.GetName(), token: holdfast.Token(r.GetToken())}
	if err = s.checkKnown(h.name); err == nil && h.token == 0 {
		err = api.Fail(api.CodeBadRequest, "token: it is missing; give the one that the acquire answered")
	}
	if err == nil {
		h.by, err = s.credentials(r.GetSession(), callerOf(ctx))
	}
	if err != nil {
		err = failed(op, space.Name, h.name, err)
		s.observer.operation(space.Name, h.metric(), err)
	}
	return h, err
}

// change asks questions about a held lock, after a check of its session: next makes the first from nil, and each later
// one from the last answer, until it returns nil. The error is complete.
func (s *service) change(h heldLock, next func(last *lock.Decision) any) (*lock.Decision, error) {
	fail := func(err error) (*lock.Decision, error) { return nil, failed(h.op, h.space.Name, h.name, err) }
	var last *protocol.Reply
	check := &session.Check{ID: h.by.id, Secret: h.by.secret, Identity: h.by.identity, Owner: h.by.owner}
	_, err := s.driver.Converse(s.asking(protocol.Below, check), func(answer *protocol.Reply) *run.Question {
		var before *lock.Decision
		if checked, is := answer.Result.(*session.Renewed); !is {
			before = &answer.Decision
		} else if checked.Err != nil {
			last = answer
			return nil
		}
		last = answer
		if question := next(before); question != nil {
			return s.asking(h.space.Port, question)
		}
		return nil
	})
	if err != nil {
		return fail(errClosing)
	}
	if checked, is := last.Result.(*session.Renewed); is {
		if why := s.losses.why(h.by, h.space.Port, h.name, h.token); why != "" {
			return fail(why)
		}
		return fail(s.whyUnavailable(edge.NotYours(h.by.id, checked.Err)))
	}
	if last.Decision.Kind == lock.Refused {
		return fail(s.whyNot(h.by, h.space.Port, h.name, h.token, last.Decision.Err))
	}
	return &last.Decision, nil
}

// whyNot replaces the refusal of a release by the loss behind it, if there is one: a query of the session reveals
// losses that could not be reported before.
func (s *service) whyNot(c credentials, port protocol.Port, name string, token holdfast.Token, refused error) error {
	if holdfast.Why(refused) != "" {
		return refused
	}
	if _, err := s.touch(c, 0, 0); err != nil && holdfast.Why(err) == "" {
		return refused // the session has ended meanwhile; the refusal stands
	}
	if why := s.losses.why(c, port, name, token); why != "" {
		return why
	}
	return refused
}
