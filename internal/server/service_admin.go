package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Names of operators' actions on whole spaces, in errors and metrics.
const (
	opTransfer   = "transfer"
	opReform     = "reform"
	opShards     = "shards"
	opSuspend    = "suspend"
	opResume     = "resume"
	opOpenSpace  = "open"
	opCloseSpace = "close"
)

// deed is an operator's request about a whole space.
type deed struct {
	op, space, reason string
	member            string // transfer, reform: name or address
	by                string // the operator, for listings and the log
}

// deedOf decodes a request.
func deedOf(ctx context.Context, op string, r interface {
	GetSpace() string
	GetBy() string
}) deed {
	return deed{op: op, space: r.GetSpace(), by: callerOf(ctx).actor(r.GetBy())}
}

// newAdmin makes the service for operators' actions on the spaces of a Config.
func newAdmin(c Config) (*admin.Service, error) {
	spaces := make([]admin.Space, len(c.Observer.spaces))
	for i := range spaces {
		spaces[i].Name = c.Observer.spaces[i].name
	}
	for _, space := range c.Spaces {
		spaces[space.Port-1].Protocol = space.Protocol
	}
	return admin.New(admin.Config{Driver: c.Driver, View: c.View, Spaces: spaces, Logger: c.Logger})
}

// onSpace checks an operator's request about a space, carries it out, and records it: in the log, for watchers, and in
// the metrics. Do returns what was done, in words; "" if nothing changed.
func (s *service) onSpace(in deed, do func(space *Space) (done string, err error)) (err error) {
	op := in.op
	space, err := s.space(in.space)
	if err != nil {
		return failed(op, "", "", err)
	}
	defer func() { s.observer.operation(space.Name, op, err) }()
	err = cmp.Or(holdfast.CheckText("reason", in.reason), holdfast.CheckText("member", in.member), holdfast.CheckText("by", in.by))
	if err != nil {
		return failed(op, space.Name, "", api.BadRequest(err))
	}
	done, err := do(space)
	switch {
	case errors.Is(err, errLongPoll):
		err = fmt.Errorf("%w: no answer within %v; it may be done nevertheless", holdfast.ErrUnavailable, s.limits.LongPoll)
		return failed(op, space.Name, "", err)
	case err != nil:
		return failed(op, space.Name, "", s.whyUnavailable(err))
	}
	if done == "" {
		return nil
	}
	level := slog.LevelInfo
	if op == opSuspend || op == opCloseSpace {
		level = slog.LevelWarn // clients get no lock there until it is undone
	}
	s.logger.Log(context.Background(), level, "space "+done, "space", space.Name, "by", in.by, "reason", in.reason)
	if in.by != "" {
		done += " by " + in.by
	}
	if in.reason != "" {
		done += ": " + in.reason
	}
	s.observer.source.Publish(&schema.WatchEvent{Event: events.Space, Space: space.Name, Why: done})
	return nil
}

// Transfer makes a member the authority of a space, and waits until it serves.
func (s *service) Transfer(ctx context.Context, r *schema.TransferRequest) (answer *schema.Transferred, err error) {
	if out := s.forwarderIn(r.GetSpace()); out != nil {
		return passOn(ctx, out, about{}, opTransfer, schema.Admin_Transfer_FullMethodName, r, &schema.Transferred{})
	}
	in := deedOf(ctx, opTransfer, r)
	in.member = r.GetMember()
	err = s.onSpace(in, func(space *Space) (string, error) {
		if in.member == "" {
			return "", api.Fail(api.CodeBadRequest, "member: it is missing; name the member to transfer to")
		}
		authority, err := s.admin.Transfer(ctx, space.Name, in.member)
		answer = &schema.Transferred{Space: space.Name, Authority: authority}
		return "transferred to " + in.member, err
	})
	return answer, err
}

// Reform changes a member's role in a space whose members vote, and waits until all shards have the change.
func (s *service) Reform(ctx context.Context, r *schema.ReformRequest) (answer *schema.Shards, err error) {
	if out := s.forwarderIn(r.GetSpace()); out != nil {
		return passOn(ctx, out, about{}, opReform, schema.Admin_Reform_FullMethodName, r, &schema.Shards{})
	}
	in := deedOf(ctx, opReform, r)
	in.member = r.GetMember()
	err = s.onSpace(in, func(space *Space) (string, error) {
		if in.member == "" {
			return "", api.Fail(api.CodeBadRequest, "member: it is missing; name the member whose part is to change")
		}
		as, err := protocol.ParseRole(r.GetAs())
		if err != nil {
			return "", api.Fail(api.CodeBadRequest, "as: "+err.Error())
		}
		if err := s.admin.Reform(ctx, space.Name, in.member, as); err != nil {
			return "", err
		}
		answer, err = s.shardsOf(ctx, space.Name)
		return fmt.Sprintf("%s made %v", in.member, as), err
	})
	return answer, err
}

// Shards returns the voters of a space.
func (s *service) Shards(ctx context.Context, r *schema.ShardsRequest) (answer *schema.Shards, err error) {
	space, err := s.space(r.GetSpace())
	if err != nil {
		return nil, failed(opShards, "", "", err)
	}
	defer func() { s.observer.operation(space.Name, opShards, err) }()
	if out := s.forwarderAt(space); out != nil {
		return passOn(ctx, out, about{}, opShards, schema.Admin_Shards_FullMethodName, r, &schema.Shards{})
	}
	if answer, err = s.shardsOf(ctx, space.Name); err != nil {
		return nil, failed(opShards, space.Name, "", err)
	}
	return answer, nil
}

// shardsOf returns the participants by name.
func (s *service) shardsOf(ctx context.Context, space string) (*schema.Shards, error) {
	answer := &schema.Shards{Space: space}
	found, err := s.admin.Shards(ctx, space)
	if err != nil {
		return nil, err
	}
	view := s.view()
	named := func(id protocol.ID) string {
		if _, here := view.Of(id); !here {
			for _, known := range found.Known {
				if known.ID == id && known.Name != "" {
					return known.Name
				}
			}
		}
		return view.Name(id)
	}
	names := func(ids []protocol.ID) (all []string) {
		for _, id := range ids {
			all = append(all, named(id))
		}
		slices.Sort(all)
		return all
	}
	for i, shard := range found.List {
		one := &schema.Shard{Shard: int32(i), Voters: names(shard.Voters), Learners: names(shard.Learners)}
		if shard.Leader != 0 {
			one.Leader = named(shard.Leader)
		}
		answer.Shards = append(answer.Shards, one)
	}
	return answer, nil
}

// Suspend stops new grants of a space, and waits until no lock is held. If the call ends before it is answered, the
// suspension is cancelled.
func (s *service) Suspend(ctx context.Context, r *schema.SuspendRequest) (answer *schema.Suspended, err error) {
	if out := s.forwarderIn(r.GetSpace()); out != nil {
		return passOn(ctx, out, about{}, opSuspend, schema.Admin_Suspend_FullMethodName, r, &schema.Suspended{})
	}
	in := deedOf(ctx, opSuspend, r)
	in.reason = r.GetReason()
	err = s.onSpace(in, func(space *Space) (string, error) {
		wait, err := atLeast("wait", r.GetWait(), 0)
		if err != nil {
			return "", err
		}
		if r.Wait == nil {
			wait = admin.Forever
		}
		outcome, err := s.admin.Suspend(ctx, admin.Order{Space: space.Name, Reason: in.reason, By: in.by, Wait: wait})
		if err != nil {
			return "", s.notSuspended(space, err)
		}
		answer = s.suspendedDocument(space, true, outcome)
		if !outcome.Changed {
			return "", nil
		}
		return "suspended", nil
	})
	return answer, err
}

// notSuspended names the holders that a suspension has waited for, or says why no member decides, if the call ended
// rather than the wait.
func (s *service) notSuspended(space *Space, err error) error {
	if errors.Is(err, errLongPoll) {
		err = holdfast.ErrHeld
		if condition, failure := s.inspect(space); failure == nil && condition.State != protocol.Ready && condition.State != protocol.Suspended {
			err = fmt.Errorf("%w: %s", holdfast.ErrUnavailable, s.conditionText(space, condition))
		}
	}
	err = s.explain(space, lock.SpaceLock, err)
	var by *holdfast.HeldError
	if errors.Is(err, holdfast.ErrHeld) && !(errors.As(err, &by) && by.Owner != "") {
		return s.inUse(space, err)
	}
	return err
}

// inUse names one of the locks that a suspension has waited for, if its refusal does not name the holder.
func (s *service) inUse(space *Space, err error) error {
	for l, failure := range s.names(s.life, space, protocol.Scan{Limit: math.MaxInt}) {
		if failure != nil {
			return err
		}
		if len(l.Holders) == 0 {
			continue
		}
		first := l.Holders[0]
		held := &holdfast.HeldError{
			Owner: cmp.Or(first.Owner, first.Client), Member: s.called(first.Session),
			Since: s.driver.Wall(first.Since), Others: len(l.Holders) - 1,
		}
		return &api.Failure{Code: api.CodeHeld, Err: held, Detail: fmt.Sprintf("lock %q is still %v; grants go on", l.Name, held)}
	}
	return err
}

// called returns the name of a session's member.
func (s *service) called(id lock.SessionID) string {
	view := s.view()
	return view.Name(protocol.ID(id.Member))
}

// Resume lets a space grant again.
func (s *service) Resume(ctx context.Context, r *schema.ResumeRequest) (answer *schema.Suspended, err error) {
	if out := s.forwarderIn(r.GetSpace()); out != nil {
		return passOn(ctx, out, about{}, opResume, schema.Admin_Resume_FullMethodName, r, &schema.Suspended{})
	}
	in := deedOf(ctx, opResume, r)
	in.reason = r.GetReason()
	err = s.onSpace(in, func(space *Space) (string, error) {
		outcome, err := s.admin.Resume(ctx, admin.Order{Space: space.Name, Reason: in.reason, By: in.by})
		if err != nil {
			return "", err
		}
		answer = s.suspendedDocument(space, false, outcome)
		if !outcome.Changed {
			return "", nil
		}
		return "resumed", nil
	})
	return answer, err
}

func (s *service) suspendedDocument(space *Space, suspended bool, outcome admin.Outcome) *schema.Suspended {
	answer := &schema.Suspended{Space: space.Name, Suspended: suspended, Changed: outcome.Changed}
	if outcome.Grant.Token != 0 {
		answer.Suspension = s.holderDocument(s.paper(), outcome.Grant)
	}
	return answer
}

// OpenSpace starts a space's instance at this member again.
func (s *service) OpenSpace(ctx context.Context, r *schema.OpenSpaceRequest) (answer *schema.OpenedSpace, err error) {
	err = s.onSpace(deedOf(ctx, opOpenSpace, r), func(space *Space) (string, error) {
		answer = &schema.OpenedSpace{Space: space.Name, Open: true}
		return "opened on member " + s.identity().Member.GetName(), s.admin.OpenSpace(ctx, space.Name)
	})
	return answer, err
}

// CloseSpace stops a space's instance at this member, and waits until nothing of it is left.
func (s *service) CloseSpace(ctx context.Context, r *schema.CloseSpaceRequest) (answer *schema.OpenedSpace, err error) {
	err = s.onSpace(deedOf(ctx, opCloseSpace, r), func(space *Space) (string, error) {
		answer = &schema.OpenedSpace{Space: space.Name}
		err := s.admin.CloseSpace(ctx, space.Name)
		if errors.Is(err, errLongPoll) {
			err = fmt.Errorf("%w: holders at this member have not stopped yet; space %q takes nothing new here",
				holdfast.ErrUnavailable, space.Name)
		}
		return "closed on member " + s.identity().Member.GetName(), err
	})
	return answer, err
}

// suspension returns the grant by which a space is suspended; nil if there is none, or if no member can tell.
func (s *service) suspension(space *Space, condition *protocol.Condition) *lock.Grant {
	if condition.State != protocol.Suspended {
		return nil
	}
	shown, err := query[*lock.Lock](s, space.Port, &protocol.Show{Name: lock.SpaceLock})
	if err != nil || len(shown.Holders) == 0 {
		return nil
	}
	return &shown.Holders[0]
}

// suspensionText describes which owner or client has suspended a space, and why.
func (s *service) suspensionText(g *lock.Grant) string {
	var text strings.Builder
	text.WriteString("suspended by " + cmp.Or(g.Owner, g.Client))
	if g.Owner != "" && g.Client != "" && g.Client != g.Owner {
		text.WriteString(" " + g.Client)
	}
	text.WriteString(" on " + s.called(g.Session) + " since " + s.driver.Wall(g.Since).Local().Format(time.TimeOnly))
	if g.Reason != "" {
		text.WriteString(": " + g.Reason)
	}
	return text.String()
}
