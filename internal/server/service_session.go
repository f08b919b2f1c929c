package server

import (
	"errors"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// credentials are what a client proves its session with.
type credentials struct {
	id       lock.SessionID
	secret   session.Secret
	identity string // of who shows them, as the port has found out; "" where it has not
}

// String returns id.secret, which only the client may see.
func (c credentials) String() string { return c.id.String() + "." + edge.FormatSecret(c.secret) }

// parseCredentials reads id.secret, shown by who has that identity. The error does not
// repeat the text, which may be a secret.
func parseCredentials(text, identity string) (credentials, error) {
	public, private, _ := strings.Cut(text, ".")
	id, known := lock.ParseSessionID(public)
	secret, proven := edge.ParseSecret(private)
	if !known || !proven {
		return credentials{}, api.Fail(api.CodeBadRequest, "session: want ID.SECRET, as the acquire that opened it answered")
	}
	return credentials{id, secret, identity}, nil
}

// touch renews a session for what its client has asked at arrived, and keeps what it
// is told to have lost for a client that asks about that. The error is
// unknown_session, the Loss with which the session has ended, or unavailable where
// nothing more can be promised now: then the session goes on to the deadline that it
// has.
func (s *service) touch(c credentials, ttl time.Duration, arrived protocol.Time) (*session.Renewed, error) {
	renewed, err := query[*session.Renewed](s, protocol.Below, &session.Renew{ID: c.id, Secret: c.secret, Identity: c.identity, TTL: ttl, Arrived: arrived})
	if err != nil {
		return nil, err
	}
	s.losses.add(c, renewed.Lost)
	switch {
	case renewed.Err == nil:
		return renewed, nil
	case holdfast.Why(renewed.Err) != "" && renewed.Err != session.ErrUnknown, errors.Is(renewed.Err, holdfast.ErrUnavailable), errors.Is(renewed.Err, session.ErrForeign):
		return nil, s.whyUnavailable(renewed.Err)
	default:
		return nil, edge.ErrSession(c.id)
	}
}

// check says whether c is a living session. The error is unavailable where no member can say: it may be another
// member's.
func (s *service) check(c credentials) error {
	_, err := s.mayResume(&session.Check{ID: c.id, Secret: c.secret, Identity: c.identity})
	return err
}

// mayResume asks whether a client may use a session, and whether it takes that over from another one.
func (s *service) mayResume(check *session.Check) (takes bool, err error) {
	checked, err := query[*session.Renewed](s, protocol.Below, check)
	if err == nil && checked.Err != nil {
		err = s.whyUnavailable(edge.NotYours(check.ID, checked.Err))
	}
	return err == nil && checked.Takes, err
}

// renew lets a session live on. Where it has lost a lock since it was told last, the
// answer is that loss, once, though the session may live on with its others.
func (s *service) renew(in renewInput) (answer api.Renewed, err error) {
	defer func() { s.observer.operation("", "renew", err) }()
	if err := edge.CheckTTL(in.TTL); err != nil {
		return answer, failed("renew", "", "", err)
	}
	c, err := parseCredentials(in.Session, in.Caller.identity)
	if err != nil {
		return answer, failed("renew", "", "", err)
	}
	if out := s.forwarderOf(c); out != nil {
		return out.renew(in)
	}
	renewed, err := s.touch(c, in.TTL, in.Arrived)
	if lost, found := s.losses.unreported(c); found {
		return answer, failed("renew", s.spaceName(lost.port), lost.name, lost.why)
	}
	if err != nil {
		return answer, failed("renew", "", "", err)
	}
	return api.Renewed{
		Session: c.id.String(),
		TTL:     roundedTTL(renewed.TTL),
		TTLCut:  s.whyCut(renewed.Cut, in.TTL, renewed.TTL),
		Until:   api.At(s.driver.Wall(in.Arrived + renewed.TTL)),
	}, nil
}

// roundedTTL cuts a ttl to whole milliseconds: what a client is told is never more
// than what it has.
func roundedTTL(ttl time.Duration) api.Duration {
	return api.Duration(max(0, ttl).Truncate(time.Millisecond))
}

// end ends a session and tells what it held, in all spaces.
func (s *service) end(text string, by caller) (answer api.SessionReleased, err error) {
	defer func() { s.observer.operation("", "end", err) }()
	c, err := parseCredentials(text, by.identity)
	if err != nil {
		return answer, failed("end", "", "", err)
	}
	if out := s.forwarderOf(c); out != nil {
		return out.end(text, by)
	}
	ended, err := query[*session.Ended](s, protocol.Below, &session.End{ID: c.id, Secret: c.secret, Identity: c.identity})
	if err != nil {
		return answer, failed("end", "", "", err)
	}
	switch {
	case errors.Is(ended.Err, session.ErrForeign), errors.Is(ended.Err, holdfast.ErrUnavailable):
		return answer, failed("end", "", "", s.whyUnavailable(ended.Err))
	case ended.Err != nil:
		return answer, failed("end", "", "", edge.ErrSession(c.id))
	}
	s.requests.released(c.id, 0)
	for _, was := range ended.Released {
		answer.Released = append(answer.Released, api.Released{
			Space: s.spaceName(was.Port), Name: was.Decision.Name, Token: was.Decision.Token, Released: true,
		})
	}
	return answer, nil
}

// release gives up a grant, and answers when the authority has taken it. What was
// lost before is told as that loss.
func (s *service) release(in releaseInput) (answer api.Released, err error) {
	space, err := s.space(in.Space)
	if err != nil {
		return answer, failed("release", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "release", err) }()
	fail := func(err error) (api.Released, error) {
		return api.Released{}, failed("release", space.Name, in.Name, err)
	}
	if err := s.checkName(in.Name); err != nil {
		return fail(err)
	}
	if in.Token == 0 {
		return fail(api.Fail(api.CodeBadRequest, "token: it is missing; give the one that the acquire answered"))
	}
	c, err := parseCredentials(in.Session, in.Caller.identity)
	if err != nil {
		return fail(err)
	}
	if out := s.forwarderAt(space); out != nil {
		return out.release(in)
	}
	if err := s.check(c); err != nil {
		if why := s.losses.why(c, space.Port, in.Name, in.Token); why != "" {
			return fail(why)
		}
		return fail(err)
	}
	released, err := s.decide(space.Port, &protocol.Release{Session: c.id, Name: in.Name, Token: in.Token, Awaited: true})
	if err != nil {
		return fail(s.whyNot(c, space.Port, in, err))
	}
	s.requests.released(c.id, released.Request)
	return api.Released{Space: space.Name, Name: in.Name, Token: in.Token, Released: true}, nil
}

// whyNot turns the refusal of a release into the loss that is behind it, if there
// is one: asking the session brings out what could not be told before.
func (s *service) whyNot(c credentials, port protocol.Port, in releaseInput, refused error) error {
	if holdfast.Why(refused) != "" {
		return refused
	}
	if _, err := s.touch(c, 0, 0); err != nil && holdfast.Why(err) == "" {
		return refused // the session has ended meanwhile; the refusal stands
	}
	if why := s.losses.why(c, port, in.Name, in.Token); why != "" {
		return why
	}
	return refused
}
