package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// kinds names the kinds of sessions.
var kinds = map[session.Kind]string{session.Stream: "stream", session.OneShot: "one-shot", session.Local: "local"}

// ListSessions lists the sessions of this member.
func (s *service) ListSessions(_ context.Context, r *schema.ListSessionsRequest) (answer *schema.SessionList, err error) {
	defer func() { s.observer.operation("", "listsessions", err) }()
	listed, err := query[*session.Listed](s, protocol.Below, &session.List{})
	if err != nil {
		return nil, failed("list sessions", "", "", err)
	}
	answer = &schema.SessionList{}
	for _, one := range listed.Sessions {
		if r.GetSubject() != "" && r.GetSubject() != one.Identity {
			continue
		}
		answer.Sessions = append(answer.Sessions, &schema.SessionInfo{
			Session: one.ID.String(), Subject: one.Identity, Client: one.Client, Kind: kinds[one.Kind], Until: s.wallOrNone(one.Until),
			Locks: int32(one.Locks), Waiters: int32(one.Waiters),
		})
	}
	return answer, nil
}

// TerminateSession ends a session of another client. Its holders learn of it, and the answer comes when they have
// stopped, or can no longer believe that they hold anything.
func (s *service) TerminateSession(ctx context.Context, r *schema.TerminateSessionRequest) (answer *schema.SessionReleased, err error) {
	defer func() { s.observer.operation("", "terminate", err) }()
	id, is := lock.ParseSessionID(r.GetSession())
	switch {
	case !is:
		return nil, failed("end session", "", "", api.Fail(api.CodeBadRequest, fmt.Sprintf("session: %.80q is no id of a session; holdfast session list shows them", r.GetSession())))
	case r.GetReason() == "":
		return nil, failed("end session", "", "", api.Fail(api.CodeBadRequest, "reason: it is missing; say why the session is ended"))
	}
	by := callerOf(ctx).actor(r.GetBy())
	if err := cmp.Or(holdfast.CheckText("reason", r.GetReason()), holdfast.CheckText("by", r.GetBy())); err != nil {
		return nil, failed("end session", "", "", api.BadRequest(err))
	}
	known, err := query[*session.Known](s, protocol.Below, &session.Who{ID: id})
	if err == nil && known.Client == "" && known.Until == 0 {
		err = api.Fail(api.CodeUnknownSession, fmt.Sprintf("session %v is not at this member; holdfast session list shows where it is", id))
	}
	if err != nil {
		return nil, failed("end session", "", "", err)
	}
	ended, err := query[*session.Ended](s, protocol.Below, &session.End{ID: id, Proven: true})
	if err == nil {
		err = ended.Err
	}
	if err != nil && !errors.Is(err, holdfast.ErrUnavailable) {
		err = api.Fail(api.CodeUnknownSession, fmt.Sprintf("session %v has ended already", id))
	}
	if err != nil {
		return nil, failed("end session", "", "", s.whyUnavailable(err))
	}
	s.requests.released(id, 0)
	s.logger.Warn("session ended by an operator", "session", id, "client", known.Client, "subject", known.Identity, "reason", r.GetReason(), "by", by)
	answer = &schema.SessionReleased{}
	for _, was := range ended.Released {
		answer.Released = append(answer.Released, released(s.spaceName(was.Port), was.Decision.Name, was.Decision.Token))
	}
	return answer, nil
}
