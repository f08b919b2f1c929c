package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/protocol"
)

// WhoAmI returns the caller and its rights.
func (s *service) WhoAmI(ctx context.Context, _ *schema.WhoAmIRequest) (answer *schema.WhoAmI, err error) {
	defer func() { s.observer.operation("", "whoami", err) }()
	v, policy := callerOf(ctx).subject, s.guard.Policy()
	answer = &schema.WhoAmI{Subject: v.Name, Groups: v.Also, Near: v.Near, Policy: s.policyDocument(), Quota: s.quotaDocument(v)}
	for _, granted := range policy.Applied(v) {
		for _, rule := range granted.Rules {
			answer.Rules = append(answer.Rules, ruleDocument(granted.Role, granted.To, rule))
		}
	}
	return answer, nil
}

func ruleDocument(role, to string, rule access.Rule) *schema.AccessRule {
	document := &schema.AccessRule{Role: role, To: to, Space: rule.Space, Names: rule.Names}
	for _, verb := range rule.Verbs {
		document.Verbs = append(document.Verbs, verb.String())
	}
	return document
}

func (s *service) policyDocument() *schema.AccessPolicy {
	state := s.guard.State()
	document := &schema.AccessPolicy{Source: state.Source, Digest: state.Digest, Since: timestamppb.New(state.Since)}
	if fault := s.guard.Fault(); fault != nil {
		document.Fault = fault.Error()
	}
	return document
}

func (s *service) quotaDocument(v access.Subject) *schema.AccessQuota {
	q := s.guard.Policy().Quota(v)
	return &schema.AccessQuota{
		Sessions: int32(q.Sessions), Locks: int32(q.Locks), Waiters: int32(q.Waiters), RequestsPerSecond: int32(q.RequestsPerSecond),
	}
}

// CheckAccess says whether a subject has a right, and why. Others than itself only an administrator may ask about.
func (s *service) CheckAccess(ctx context.Context, r *schema.CheckAccessRequest) (answer *schema.AccessDecision, err error) {
	defer func() { s.observer.operation("", "checkaccess", err) }()
	v := callerOf(ctx)
	subject := v.subject
	if asked := r.GetSubject(); asked != "" && (asked != subject.Name || len(r.GetGroups()) > 0) {
		if err := s.permit(v, &right{call: "CheckAccess", verb: access.Admin}, r); err != nil {
			return nil, err
		}
		subject = access.Subject{Name: asked, Also: r.GetGroups()}
		if err := subject.Check(); err != nil {
			return nil, failed("check access", "", "", api.Fail(api.CodeBadRequest, "subject: "+err.Error()))
		}
	}
	verb, err := access.ParseVerb(r.GetVerb())
	if err != nil {
		return nil, failed("check access", "", "", api.Fail(api.CodeBadRequest, "verb: "+err.Error()))
	}
	space := cmp.Or(r.GetSpace(), holdfast.DefaultSpace)
	err = cmp.Or(holdfast.CheckSpace(space), checkAny(r.GetName()))
	if space == "*" && r.GetName() == "" {
		space, err = "", nil
	}
	if err != nil {
		return nil, failed("check access", "", "", api.BadRequest(err))
	}
	d := s.guard.Policy().Explain(subject, verb, space, r.GetName())
	answer = &schema.AccessDecision{Allowed: d.Allowed, Subject: subject.Name, Why: d.String(), Roles: d.Missing}
	if d.Role != "" {
		answer.Rule = ruleDocument(d.Role, d.To, d.Rule)
	}
	return answer, nil
}

// checkAny checks a name that may be absent.
func checkAny(name string) error {
	if name == "" {
		return nil
	}
	return holdfast.CheckName(name)
}

// tokens returns the tokens that this member takes.
func (s *service) tokens(op string) (*token.File, error) {
	if tokens := s.guard.Tokens(); tokens != nil {
		return tokens, nil
	}
	return nil, failed(op, "", "", &api.Failure{
		Code: api.CodeUnsupported, Detail: "this member keeps no tokens: it has no state folder; give it a file with --tokens FILE",
	})
}

// AddToken adds a token. The member gets its hash alone.
func (s *service) AddToken(_ context.Context, r *schema.AddTokenRequest) (answer *schema.AccessToken, err error) {
	defer func() { s.observer.operation("", "addtoken", err) }()
	tokens, err := s.tokens("add token")
	if err != nil {
		return nil, err
	}
	record := token.Record{Name: r.GetName(), Created: s.wallNow()}
	sum, err := hex.DecodeString(r.GetSha256())
	if err != nil || len(sum) != len(record.Sum) {
		return nil, failed("add token", "", "", api.Fail(api.CodeBadRequest,
			fmt.Sprintf("sha256: want %d hexadecimal digits, the SHA-256 of the token", 2*len(record.Sum))))
	}
	copy(record.Sum[:], sum)
	lifetime, err := atLeast("lifetime", r.GetLifetime(), time.Second)
	if err == nil {
		err = api.BadRequest(token.CheckName(r.GetName()))
	}
	if err != nil {
		return nil, failed("add token", "", "", err)
	}
	if lifetime > 0 {
		record.Expires = record.Created.Add(lifetime)
	}
	switch err := tokens.Add(record); {
	case errors.Is(err, token.ErrTaken):
		return nil, failed("add token", "", "", &api.Failure{Code: api.CodeConflict, Detail: err.Error()})
	case err != nil:
		return nil, failed("add token", "", "", &holdfast.UnavailableError{Why: err.Error()})
	}
	return s.tokenDocument(record), nil
}

// wallNow returns the wall time, to the second: people read it.
func (s *service) wallNow() time.Time { return s.driver.Wall(s.now()).UTC().Truncate(time.Second) }

func (s *service) tokenDocument(r token.Record) *schema.AccessToken {
	document := &schema.AccessToken{Name: r.Name, Created: timestamppb.New(r.Created)}
	if !r.Expires.IsZero() {
		document.Expires = timestamppb.New(r.Expires)
	}
	if used := s.guard.LastUse(r.Name); !used.IsZero() {
		document.Used = timestamppb.New(used)
	}
	return document
}

// ListTokens lists the tokens of this member.
func (s *service) ListTokens(context.Context, *schema.ListTokensRequest) (answer *schema.AccessTokens, err error) {
	defer func() { s.observer.operation("", "listtokens", err) }()
	tokens, err := s.tokens("list tokens")
	if err != nil {
		return nil, err
	}
	answer = &schema.AccessTokens{}
	for _, record := range tokens.List() {
		answer.Tokens = append(answer.Tokens, s.tokenDocument(record))
	}
	return answer, nil
}

// RevokeToken revokes a token of this member.
func (s *service) RevokeToken(_ context.Context, r *schema.RevokeTokenRequest) (answer *schema.AccessToken, err error) {
	defer func() { s.observer.operation("", "revoketoken", err) }()
	tokens, err := s.tokens("revoke token")
	if err != nil {
		return nil, err
	}
	all := tokens.List()
	at := slices.IndexFunc(all, func(record token.Record) bool { return record.Name == r.GetName() })
	if at < 0 {
		return nil, failed("revoke token", "", "", &api.Failure{Code: api.CodeNotHeld, Detail: fmt.Sprintf("there is no token %q at this member", printable(r.GetName()))})
	}
	if err := tokens.Revoke(r.GetName()); err != nil {
		return nil, failed("revoke token", "", "", &holdfast.UnavailableError{Why: err.Error()})
	}
	return s.tokenDocument(all[at]), nil
}

// WatchAudit sends the latest entries of the audit log, and those that follow. Its header has the number of the former.
func (s *service) WatchAudit(r *schema.WatchAuditRequest, stream grpc.ServerStreamingServer[schema.AuditEntry]) error {
	begin := func(latest int) error { return stream.SendHeader(metadata.Pairs(api.LatestKey, strconv.Itoa(latest))) }
	err := s.followAudit(stream.Context(), r, begin, func(entries []*schema.AuditEntry) error {
		for _, entry := range entries {
			if err := stream.Send(entry); err != nil {
				return err
			}
		}
		return nil
	})
	if ended := stream.Context().Err(); ended != nil {
		return status.FromContextError(ended).Err()
	}
	return failed("audit", "", "", err)
}

// followAudit calls begin with the number of entries that it sends at once, and then sends entries until ctx ends, this
// member leaves or the reader is too slow. An empty list shows that the feed is alive.
func (s *service) followAudit(ctx context.Context, r *schema.WatchAuditRequest,
	begin func(latest int) error, send func([]*schema.AuditEntry) error,
) (err error) {
	defer func() { s.observer.operation("", "audit", err) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	feed := s.guard.Audit().Follow(max(0, int(r.GetLast())))
	defer feed.Close()
	if err := begin(feed.Unread()); err != nil {
		return err
	}
	for {
		beat, done := context.WithTimeout(ctx, beatEvery)
		entries, err := feed.Next(beat)
		done()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		case s.life.Err() != nil:
			return &holdfast.UnavailableError{Why: errLeaving.Error()}
		case errors.Is(err, audit.ErrSlow):
			return &holdfast.LimitError{Limit: unreadEvents}
		case err != nil:
			return err
		}
		documents := make([]*schema.AuditEntry, len(entries))
		for i := range entries {
			documents[i] = entryDocument(&entries[i])
		}
		if err := send(documents); err != nil {
			return err
		}
	}
}

func entryDocument(e *audit.Entry) *schema.AuditEntry {
	return &schema.AuditEntry{
		Time: timestamppb.New(e.Time), Member: e.Member, Event: e.Event, Subject: e.Subject, Address: e.Address, Call: e.Call,
		Verb: e.Verb, Space: e.Space, Name: e.Name, Token: e.Token, Reason: e.Reason, Result: e.Result, Detail: e.Detail, Request: e.Request,
	}
}

// otherPolicies names the members whose policy has another digest.
func (s *service) otherPolicies(view protocol.View, digest string) (names []string) {
	for id, other := range s.policies() {
		if other != digest && id != s.me {
			names = append(names, view.Name(id))
		}
	}
	slices.Sort(names)
	return names
}
