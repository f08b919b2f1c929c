package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

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
