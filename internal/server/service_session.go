package server

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
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
